import sqlite3
import unicodedata

import pytest

from winnowd.cjk import has_letters, spaced


def test_text_without_such_letters_has_no_second_form() -> None:
    assert spaced("") is None
    assert spaced("Hafen, κόσμος, мир, שלום, हिन्दी 2026 — “quoted”") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("港口", "港 口"),
        ("データ", "デ ー タ"),
        ("한국어", "한 국 어"),
        ("ขนมไทย", "ข น ม ไ ท ย"),
        ("ລາວ", "ລ າ ວ"),
        ("ខមែរ", None),
        ("မန", "မ န"),
        ("人々 〇", "人 々 〇"),
        ("𠀀𠮷", "𠀀 𠮷"),
    ],
)
def test_every_letter_stands_alone(text: str, expected: str | None) -> None:
    result = spaced(text)
    assert result is not None
    if expected is not None:
        assert result == expected


def test_only_the_runs_with_such_letters_are_kept() -> None:
    assert spaced("the port of 東京 and the\nport of 大阪, Japan") == "東 京 大 阪 ,"


def test_a_word_that_mixes_scripts_stays_one_run() -> None:
    assert spaced("see gen-itgc中文v2 now") == "gen-itgc 中 文 v2"


def test_digits_of_those_scripts_stay_together() -> None:
    assert spaced("ป๒๕๖๙") == "ป ๒๕๖๙"


def test_half_width_and_decomposed_letters_are_folded() -> None:
    assert spaced("ﾃﾞｰﾀ") == spaced("データ")
    assert spaced(unicodedata.normalize("NFD", "한국어 データ")) == spaced("한국어 データ")


def test_marks_between_letters_do_not_hide_them_from_the_tokenizer() -> None:
    assert _found("เรื่องที่ท่าเรือ", "ท่าเรือ")
    assert _found("ភាសាខ្មែរ", "ខ្មែរ")
    assert _found("မြန်မာစာ", "မြန်မာ")


def test_the_order_of_the_letters_counts() -> None:
    assert _found("我们在港口工作", "港口")
    assert not _found("我们在港口工作", "口港")


def test_has_letters_says_whether_there_are_any() -> None:
    assert has_letters("a中")
    assert not has_letters("aé，")


def test_a_megabyte_without_blanks_is_no_trouble() -> None:
    text = "x" * 1_000_000 + "中"
    assert (spaced(text) or "").endswith("x 中")
    assert spaced("é" * 1_000_000) is None


def _found(text: str, word: str) -> bool:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(cjk, tokenize='unicode61 remove_diacritics 2')")
    db.execute("INSERT INTO t VALUES (?)", (spaced(text),))
    phrase = (spaced(word) or "").replace('"', '""')
    return bool(db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (f'"{phrase}"',)).fetchone()[0])
