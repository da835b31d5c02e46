"""Turns the bytes of a text, Markdown or HTML file into characters, and says how sure that was.

Hides every guess about encodings. In this order: a byte order mark; UTF-16 without one, by its NULs; strict UTF-8 over the
whole text; UTF-8 with a few broken places; what the file declares of itself, unless the bytes contradict it; charset-
normalizer on a bounded sample round the bytes beyond ASCII; the configured fallback.
"""

import codecs
import re
from dataclasses import dataclass
from itertools import pairwise

from charset_normalizer import from_bytes

from winnowd.formats import utf16_without_bom

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LABELS = {
    "cp1252": "ascii us-ascii iso-8859-1 iso8859-1 latin1 latin-1 l1 cp1252 windows-1252 x-cp1252 ansi",
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1253": "cp1253 windows-1253",
    "cp1254": "cp1254 windows-1254 iso-8859-9 iso8859-9 latin5",
    "cp1255": "cp1255 windows-1255",
    "cp1256": "cp1256 windows-1256",
    "cp1257": "cp1257 windows-1257",
    "cp1258": "cp1258 windows-1258",
    "cp874": "cp874 windows-874 tis-620 iso-8859-11 iso8859-11",
    "cp866": "cp866 ibm866 866",
    "iso8859-2": "iso-8859-2 iso8859-2 latin2",
    "iso8859-3": "iso-8859-3 iso8859-3 latin3",
    "iso8859-4": "iso-8859-4 iso8859-4 latin4",
    "iso8859-5": "iso-8859-5 iso8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 arabic",
    "iso8859-7": "iso-8859-7 iso8859-7 greek",
    "iso8859-8": "iso-8859-8 iso8859-8 iso-8859-8-i hebrew visual",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 latin-9 latin9",
    "iso8859-16": "iso-8859-16 iso8859-16",
    "koi8-r": "koi8-r koi8 koi8_r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gb2312 gbk x-gbk gb_2312-80 chinese csgb2312",
    "big5": "big5 big5-hkscs cn-big5 x-x-big5",
    "euc-jp": "euc-jp x-euc-jp",
    "shift_jis": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j ms932 cp932",
    "iso2022-jp": "iso-2022-jp csiso2022jp",
    "cp949": "euc-kr ks_c_5601-1987 ksc5601 korean windows-949 cp949 uhc",
}
_BY_LABEL = {label: name for name, labels in _LABELS.items() for label in labels.split()}
"""The labels of the WHATWG Encoding Standard that still occur; Latin-1 means Windows-1252, GB2312 means GB18030.

Codecs that are no encodings of text, and UTF-7, are left out on purpose; `utf-16` declared in ASCII letters is wrong."""

_CODECS = {"shift_jis": "cp932", "big5": "big5hkscs"}
"""The larger sets that are meant when these are named."""

_GUESSED = {"euc_jis_2004": "euc-jp", "euc_jisx0213": "euc-jp", "shift_jis_2004": "shift_jis", "shift_jisx0213": "shift_jis"}
_GUESSED |= {
    "cp932": "shift_jis",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5hkscs": "big5",
    "johab": "cp949",
    "euc_kr": "cp949",
}
_GUESSED |= {
    "latin_1": "cp1252",
    "cp1125": "cp866",
    "koi8_r": "koi8-r",
    "koi8_u": "koi8-u",
    "euc_jp": "euc-jp",
    "mac_roman": "mac-roman",
}
"""Names of charset-normalizer, and the usual name of what they nearly always are in files."""

_LATIN = frozenset({"cp1250", "cp1252", "cp1254", "cp1257", "iso8859-2", "iso8859-9", "iso8859-15", "mac-roman"})
"""Encodings in which a word has a single letter beyond ASCII here and there."""

_BEYOND = re.compile(rb"[\x80-\xff]")
_SAMPLE = 12_000  # bytes for charset-normalizer, which takes milliseconds for a kilobyte
_FEW = 10  # bytes beyond ASCII; below, a language is a guess
_BROKEN_SHARE = 0.1  # of the letters beyond ASCII; text in another encoding read as UTF-8 breaks at more than half of them
_COHERENT = 0.5  # by charset-normalizer; below, a language is a guess
_AFTER_LETTER = re.compile(r"(?<=[a-z])([^\x00-\x7f\xad\u00b7\u2010-\u2019\u2026])(?=([a-z]?))")
_KANA = re.compile(r"[\u3041-\u30ff]")
_KANA_SHARE = 0.2

_CYRILLIC = ("cp1251", "koi8-r")
_CENTRAL = ("cp1250", "iso8859-2")
_PAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Polish", "Czech", "Slovak", "Hungarian", "Croatian", "Slovene", "Romanian"), _CENTRAL),
    **dict.fromkeys(("Lithuanian", "Latvian"), ("cp1257", "iso8859-13")),
    "Turkish": ("cp1254",),
}
"""The usual code pages of languages that the western ones do not cover."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with `\\n` line ends and without NULs, its encoding, and how many characters had to be replaced by U+FFFD."""

    text: str
    encoding: str
    damaged: int = 0


def decode(data: bytes, fallback: str = "cp1252", declared: str | None = None) -> Decoded:
    """The text of `data`. `declared` is what the file says of itself; it is believed unless the bytes contradict it.

    >>> decode("Gr\\u00f6\\u00dfe".encode()).text, decode(b"na\\xefve").encoding
    ('Größe', 'cp1252')
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _read(data[len(mark) :], name)
    wide = utf16_without_bom(data) if b"\0" in data[:4096] else None
    if wide:
        return _read(data, wide)
    if b"\x1b$" in data and (shifted := _read(data, "iso2022-jp")).damaged == 0:
        return shifted
    utf8 = _read(data, "utf-8")
    if utf8.damaged <= _BROKEN_SHARE * _beyond_ascii(utf8):
        return utf8
    return _declared(data, declared) or _guessed(data, fallback)


def _read(data: bytes, name: str) -> Decoded:
    codec = _CODECS.get(name, name)
    try:
        text, damaged = data.decode(codec), 0
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
        damaged = text.count("\ufffd") - data.decode(codec, "ignore").count("\ufffd")
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""), name, damaged)


def _beyond_ascii(read: Decoded) -> int:
    if read.text.isascii():
        return 0
    return len(read.text) - len(read.text.encode("ascii", "ignore")) - read.damaged


def _declared(data: bytes, label: str | None) -> Decoded | None:
    name = _BY_LABEL.get((label or "").strip().strip("\"'").lower())
    if name is None or (name in _LATIN and not _latin_like(_sample(data))):
        return None
    read = _read(data, name)
    return read if read.damaged <= _BROKEN_SHARE * _beyond_ascii(read) else None


def _guessed(data: bytes, fallback: str) -> Decoded:
    sample = _sample(data)
    name = _code_page(sample, fallback) if _latin_like(sample) else _script(sample)
    if name is None:
        return _read(data, fallback)
    read = _read(data, name)
    return read if read.damaged <= _BROKEN_SHARE * _beyond_ascii(read) else _read(data, fallback)


def _code_page(sample: bytes, fallback: str) -> str:
    """The page that puts the fewest signs and capitals inside words, among the usual ones and those of the language, which
    charset-normalizer tells even through a wrong page. Of equals the configured one, unless the language is sure."""
    best = from_bytes(sample).best() if len(_BEYOND.findall(sample)) >= _FEW else None
    own = _PAGES.get(best.language, ()) if best else ()
    sure = best is not None and best.coherence >= _COHERENT
    pages = (*own, fallback, "cp850", "mac-roman") if sure else (fallback, *own, "cp850", "mac-roman")
    return min(pages, key=lambda page: _misplaced(_read(sample, page).text))


def _misplaced(text: str) -> int:
    """How many signs stand inside words and how many capitals after small letters: the mark of a wrong code page."""
    return sum(sign.isupper() or bool(following and not sign.isalpha()) for sign, following in _AFTER_LETTER.findall(text))


def _script(sample: bytes) -> str | None:
    """The encoding of text in another script, or None. Half the letters of Japanese are kana, which Korean readings lack."""
    japanese = _read(sample, "euc-jp")
    if not japanese.damaged and len(_KANA.findall(japanese.text)) > _KANA_SHARE * _beyond_ascii(japanese):
        return "euc-jp"
    best = from_bytes(sample).best()
    name = _GUESSED.get(best.encoding, best.encoding.replace("_", "-")) if best else None
    if name not in _CYRILLIC:
        return name
    # KOI8-R and Windows-1251 read each other as words with the capitals the wrong way round.
    return min((name, *_CYRILLIC), key=lambda page: _risen(_read(sample, page).text))


def _risen(text: str) -> int:
    return sum(one.islower() and following.isupper() for one, following in pairwise(text))


def _latin_like(sample: bytes) -> bool:
    """Whether bytes beyond ASCII stand singly in ASCII words, as in western and central European text."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    high = sum(map(len, runs))
    letters = len(re.findall(rb"[A-Za-z]", sample))
    return high <= 1.6 * len(runs) and (high < _FEW or high <= 0.3 * (letters + high))


def _sample(data: bytes) -> bytes:
    """Lines with bytes beyond ASCII, without markup, up to `_SAMPLE` bytes; cut only where no multi-byte letter can be cut."""
    pieces, taken, at = list[bytes](), 0, 0
    while taken < _SAMPLE and (found := _BEYOND.search(data, at)):
        start = max(data.rfind(b"\n", at, found.start()) + 1, at) if found.start() - at < 2_000 else found.start()
        stop = re.compile(rb"[\x00-\x2f]").search(data, found.start() + 1_000)
        at = min(stop.start() if stop else len(data), found.start() + _SAMPLE)
        pieces.append(re.sub(rb"<[^<>]*>", b" ", data[start:at]))
        taken += at - start
    return b"\n".join(pieces)
