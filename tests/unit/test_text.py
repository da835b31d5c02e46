"""What is read of text files, and in which encoding."""

from collections.abc import Callable
from pathlib import Path

import pytest

from winnowd.extract import Reading, extract
from winnowd.extract.decode import decode
from winnowd.formats import BY_NAME
from winnowd.model import Block, Extraction

Read = Callable[..., Extraction]

GERMAN = "Alle Menschen sind frei und gleich an W\u00fcrde und Rechten geboren. Sie sollen einander br\u00fcderlich begegnen."
POLISH = (
    "Wszyscy ludzie rodz\u0105 si\u0119 wolni i r\u00f3wni pod wzgl\u0119dem swej godno\u015bci i swych praw. Ka\u017cdy "
    "cz\u0142owiek posiada wszystkie prawa i wolno\u015bci bez wzgl\u0119du na jakiekolwiek r\u00f3\u017cnice rasy, koloru, "
    "p\u0142ci, j\u0119zyka, wyznania, pogl\u0105d\u00f3w politycznych, narodowo\u015bci, maj\u0105tku i urodzenia."
)
RUSSIAN = (
    "\u0412\u0441\u0435 \u043b\u044e\u0434\u0438 \u0440\u043e\u0436\u0434\u0430\u044e\u0442\u0441\u044f "
    "\u0441\u0432\u043e\u0431\u043e\u0434\u043d\u044b\u043c\u0438 \u0438 \u0440\u0430\u0432\u043d\u044b\u043c\u0438 "
    "\u0432 \u0441\u0432\u043e\u0435\u043c \u0434\u043e\u0441\u0442\u043e\u0438\u043d\u0441\u0442\u0432\u0435 "
    "\u0438 \u043f\u0440\u0430\u0432\u0430\u0445. \u041e\u043d\u0438 "
    "\u043d\u0430\u0434\u0435\u043b\u0435\u043d\u044b \u0440\u0430\u0437\u0443\u043c\u043e\u043c \u0438 "
    "\u0441\u043e\u0432\u0435\u0441\u0442\u044c\u044e."
)
JAPANESE = "\u3059\u3079\u3066\u306e\u4eba\u9593\u306f\u3001\u5e73\u7b49\u3067\u3042\u308b\u3002" * 5
CHINESE = (
    "\u4eba\u4eba\u751f\u800c\u81ea\u7531\uff0c\u5728\u5c0a\u4e25\u548c\u6743\u5229\u4e0a\u4e00\u5f8b\u5e73\u7b49\u3002" * 3
)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(data: str | bytes, format: str = "text", text_chars: int = 100_000) -> Extraction:
        raw = data.encode() if isinstance(data, str) else data
        path = tmp_path / "file"
        path.write_bytes(raw)
        return extract(Reading(str(path), BY_NAME[format], len(raw), text_chars=text_chars))

    return read


def shown(found: Extraction) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in found.blocks]


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "utf-8-sig", "utf-8"),
        (GERMAN, "utf-16", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (GERMAN, "utf-32", "utf-32-le"),
        (GERMAN, "cp1252", "cp1252"),
        ("na\u00efve \u20ac", "cp1252", "cp1252"),
        (GERMAN, "cp850", "cp850"),
        (POLISH, "cp1250", "cp1250"),
        (POLISH, "iso8859-2", "iso8859-2"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        (JAPANESE, "cp932", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (JAPANESE, "iso2022-jp", "iso2022-jp"),
        (CHINESE, "gb18030", "gb18030"),
    ],
)
def test_an_encoding_is_found_without_being_told(text: str, codec: str, name: str) -> None:
    found = decode(text.encode(codec))
    assert (found.text, found.encoding, found.damaged) == (text, name, 0)


def test_the_first_letter_beyond_ascii_may_come_late() -> None:
    assert decode(b"plain words\n" * 10_000 + "Gr\u00fc\u00dfe".encode()).text.endswith("Gr\u00fc\u00dfe")


def test_utf8_with_a_broken_place_stays_utf8_and_the_damage_is_counted() -> None:
    found = decode((GERMAN * 10).encode() + b" M\xfcll")
    assert (found.encoding, found.damaged, found.text[-6:]) == ("utf-8", 1, ". M\ufffdll"[-6:])


def test_replacement_characters_of_the_source_are_no_damage_of_ours() -> None:
    assert decode("lost \ufffd letters \ufffd \u00fc".encode()).damaged == 0


def test_a_wrong_declaration_is_not_believed_and_a_strange_one_is_ignored() -> None:
    assert decode(RUSSIAN.encode("cp1251"), declared="iso-8859-1").encoding == "cp1251"
    assert decode(GERMAN.encode("cp1252"), declared="unicode_escape").text == GERMAN
    assert decode(GERMAN.encode("cp1252"), declared="utf-8").text == GERMAN


def test_the_fallback_is_taken_where_the_text_is_too_short_to_tell() -> None:
    assert decode(b"caf\xe9", fallback="cp1250").encoding == "cp1250"


def test_line_ends_become_one_and_nuls_go() -> None:
    assert decode(b"a\r\nb\rc\0d").text == "a\nb\ncd"


def test_text_is_parted_at_blank_lines_and_form_feeds(read: Read) -> None:
    found = read("One\ntwo  \n \n\nThree\fFour\n")
    assert shown(found) == [("paragraph", "One\ntwo"), ("paragraph", "Three"), ("paragraph", "Four")]
    assert (found.metadata.title, found.outline, found.metadata.encoding) == (None, (), "utf-8")


def test_damage_is_noted_with_its_measure(read: Read) -> None:
    found = read((GERMAN * 10).encode() + b" M\xfcll")
    assert [(note.code, note.measure) for note in found.notes] == [("damaged", 1)]


def test_a_long_text_is_cut_and_noted(read: Read) -> None:
    found = read("word " * 100, text_chars=50)
    assert (sum(len(block.text) for block in found.blocks) <= 50, [note.code for note in found.notes]) == (True, ["bounded"])


RST = """
Harbour
=======

Intro text
over lines.

Depths
------

====== =====
Quay   Depth
====== =====

Berths
======
"""


def test_rst_sections_are_headings(read: Read) -> None:
    found = read(RST, "rst")
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Harbour"), (2, "Depths"), (1, "Berths")]
    assert ("paragraph", "Intro text\nover lines.") in shown(found)
    assert found.metadata.title is None  # two sections of the first level: neither is the title


def test_an_rst_title_with_a_line_above_and_below_is_one_heading(read: Read) -> None:
    found = read("=======\n Title\n=======\n\nText\n\nPart\n----\n", "rst")
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Title"), (2, "Part")]
    assert found.metadata.title == "Title"


ADOC = """= Guide
:toc: left

// a comment
== First

Text with = sign.

----
== no heading
  indented
----

=== Deeper ===
"""


def test_asciidoc_sections_are_headings_but_not_in_listings(read: Read) -> None:
    found = read(ADOC, "asciidoc")
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Guide"), (2, "First"), (3, "Deeper")]
    assert ("code", "== no heading\n  indented") in shown(found)
    assert found.metadata.title == "Guide"
    assert "comment" not in str(shown(found)) and ":toc:" not in str(shown(found))


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_csv_becomes_a_table(read: Read, sign: str) -> None:
    found = read(f'Quay{sign}Depth\nNorth{sign}"7{sign}4\nm"\n\nSouth{sign}|\n', "csv")
    assert shown(found) == [
        ("table", f"| Quay | Depth |\n| --- | --- |\n| North | {f'7{sign}4 m'.replace(chr(9), ' ')} |\n| South | \\| |")
    ]


def test_long_csv_is_several_tables_with_the_same_head(read: Read) -> None:
    found = read("a,b\n" + "1,2\n" * 450, "csv")
    assert len(found.blocks) == 3
    assert all(block.text.startswith("| a | b |\n| --- | --- |\n| 1 | 2 |") for block in found.blocks)
    assert sum(block.text.count("| 1 | 2 |") for block in found.blocks) == 450


def test_csv_that_is_no_table_is_text(read: Read) -> None:
    assert shown(read("Just a sentence.\n\nAnd another.", "csv")) == [
        ("paragraph", "Just a sentence."),
        ("paragraph", "And another."),
    ]


def test_a_quote_that_is_never_closed_loses_nothing(read: Read) -> None:
    found = read('a,b\n1,"' + "word\n" * 60_000, "csv", text_chars=1_000_000)
    assert sum(block.text.count("word") for block in found.blocks) == 60_000


def test_blocks_of_text_lie_on_the_only_page(read: Read) -> None:
    found = read("One\n\nTwo")
    assert (len(found.pages), found.paged, found.blocks[1]) == (1, False, Block("paragraph", "Two", page=0))
