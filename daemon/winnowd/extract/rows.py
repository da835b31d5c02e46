"""Writes rows of cells as a Markdown table: the one form in which every extractor gives tables."""

from collections.abc import Iterable, Sequence


def markdown_rows(rows: Iterable[Sequence[str]]) -> str:
    """One line per row, a rule after the first; pipes are escaped, line breaks in cells become blanks, empty rows go.

    >>> print(markdown_rows([["Site", "Depth"], ["North\\nquay", "7 | 8 m"]]))
    | Site | Depth |
    | --- | --- |
    | North quay | 7 \\| 8 m |
    """
    lines = [[_cell(cell) for cell in row] for row in rows]
    written = [f"| {' | '.join(cells)} |" for cells in lines if any(cells)]
    if not written:
        return ""
    width = len(next(cells for cells in lines if any(cells)))
    return "\n".join([written[0], "|" + " --- |" * width, *written[1:]])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
