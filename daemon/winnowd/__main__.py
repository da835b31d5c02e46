"""The command `winnow`. Kept empty of imports: children of the fork server load this module again."""


def main() -> None:
    """Run the command line."""
    from winnowd.commands import winnow

    winnow(prog_name="winnow")


if __name__ == "__main__":
    main()
