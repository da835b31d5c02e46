"""The form in which words are searched that are written without blanks between them.

SQLite's tokenizer takes a whole Chinese sentence for one word. So beside each text stands a second one, in which every letter
of such a script is a word of its own, and a word that a person types is looked for there as a phrase of letters. This module
hides which scripts those are.
"""

import re
import unicodedata

_SCRIPTS = (
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"  # Kana
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa0-\uffdc"  # Hangul
    "\u0e01-\u0e5b"  # Thai
    "\u0e81-\u0eff"  # Lao
    "\u1780-\u17ff"  # Khmer
    "\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
)
LETTER = re.compile(rf"(?=[{_SCRIPTS}])[^\W\d_]")
"""One letter of a script that is written without blanks. Vowel signs and tone marks are none: the tokenizer skips them."""
_PIECE = re.compile(rf"{LETTER.pattern}|(?:(?!{LETTER.pattern}).)+", re.DOTALL)


def spaced(text: str) -> str | None:
    """The runs between blanks that hold such letters, with a blank round each of them; None where there is none.

    Half-width kana and other forms of compatibility are folded (NFKC), on both sides: in what is stored and in what is asked.

    >>> spaced("Protokoll gen-itgc中文 vom Mai")
    'gen-itgc 中 文'
    >>> spaced("harbour") is None
    True
    """
    if not has_letters(text):
        return None
    runs = (run for run in unicodedata.normalize("NFKC", text).split() if LETTER.search(run))
    return " ".join(_apart(run) for run in runs) or None


def has_letters(text: str) -> bool:
    """Whether the text holds a letter of such a script."""
    return not text.isascii() and LETTER.search(text) is not None


def _apart(run: str) -> str:
    return " ".join(_PIECE.findall(run))
