"""The session that the README shows is real: this runs it and compares. `python tests/system/test_readme.py` rewrites it."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import builders
from shares import Share, command

README = Path(__file__).parents[2] / "README.md"
SESSION = re.compile(r"<!-- begin session -->\n(.*?)<!-- end -->", re.S)
SHOWN = "/srv/share"
COMMANDS = (
    "winnow scan /srv/share",
    "winnow search dredging channel",
    "winnow review list",
    "winnow why /srv/share/letters/signed.pdf",
    "winnow failed list",
)


def fill(share: Share) -> None:
    minutes = [
        "The board met on the first Monday of March and heard the harbour master.",
        "Dredging of the northern channel begins in May and takes nine weeks.",
    ]
    heading = builders.pdf_text(72, 90, "Dredging", size=20)
    labels = b"/PageLabels << /Nums [0 << /S /r >>] >>"
    pages = [b"".join([builders.pdf_text(72, 90, "Minutes", size=20), *builders.pdf_column(72, 130, minutes[:1])])]
    pages += [b"".join([heading, *builders.pdf_column(72, 130, minutes[1:])])]
    pdf = builders.pdf_pages(*pages, catalog=labels)
    share.write("minutes/2026-03.pdf", pdf)
    share.write("minutes/copy of 2026-03.pdf", pdf)
    share.write("letters/signed.pdf", builders.pdf_pages(builders.pdf_image(0, 0, 612, 792)))
    share.write("letters/broken.pdf", b"%PDF-1.4 and nothing more")
    share.write("letters/~$draft.docx", b"lock")


def session(folder: Path) -> str:
    """The commands with what they print, as on a terminal that is not one."""
    share = Share(folder)
    fill(share)
    parts = []
    for line in COMMANDS:
        _, *words = shlex.split(line)
        words = [word.replace(SHOWN, str(share.root)) for word in words]
        at = 2 if words[0] in ("review", "failed") else 1
        argv = command(*words[:at], "--db", share.db, *words[at:])
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        parts.append(f"$ {line}\n{done.stdout.replace(str(share.root), SHOWN)}")
    return "\n".join(parts).replace("\t", "   ")


def section(folder: Path) -> str:
    return f"```text\n{session(folder)}```\n"


def test_the_session_in_the_readme_is_what_the_commands_print(tmp_path):
    shown = SESSION.search(README.read_text(encoding="utf-8"))
    assert shown is not None
    assert section(tmp_path) == shown[1], "python tests/system/test_readme.py rewrites it"


def test_the_readme_names_files_that_exist():
    for name in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / name).exists(), name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        text = README.read_text(encoding="utf-8")
        written = section(Path(place))
        README.write_text(SESSION.sub(lambda _: f"<!-- begin session -->\n{written}<!-- end -->", text), encoding="utf-8")
