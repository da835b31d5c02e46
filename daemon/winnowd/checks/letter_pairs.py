"""How likely the letters of a text follow one another in languages written with Latin letters.

A font that maps its glyphs to the wrong characters gives words that no language has; pairs of letters show it without
knowing the language. It hides the table, which `scripts/letter_pairs` makes from the stop word lists of jusText: 100 languages.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from operator import itemgetter

LEAST = 60  # pairs; fewer say nothing
ORDINARY = -4.0
"""The middle of good text. A small sample is drawn towards it with the weight of ten pairs, so chance alone flags no page."""
WEIGHT = 10

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = re.compile("[\u0300-\u036f]+")
BEYOND_ASCII = re.compile("[^\0-\x7f]+")
AROUND = ".,;:!?()[]{}<>\"'`“”‘’„‚«»‹›…*_/-–—|•·"
OTHER_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ŋ": "n", "ð": "d", "þ": "th", "ħ": "h"}
    | {"ə": "e", "ɛ": "e", "ɔ": "o", "ɓ": "b", "ɗ": "d", "ƙ": "k", "ŧ": "t", "ĸ": "k", "ʼ": "", "’": "'"}
)

# The row is the first letter, the column the second, the last of each is the edge of a word; tenths of bits, the sign left out.
# table begins
TABLE = """
 63  58  62  50  70  71  61  63  54  67  54  40  47  27  71  63  74  36  40  43  61  59  70  92  59  68  18
 24  61  82  83  25  97  88  56  24  81  88  44  93  76  36  97  97  40  78  75  33  93  86  97  48  93  44
 26  95  60  92  33  97  95  23  28  76  63  69  86  74  28  97  97  64  76  68  37  97  85  97  68  69  42
 26  93  94  60  17  97  96  67  28  76  92  66  85  66  37  95  98  59  72  73  43  80  87  99  69  69  28
 64  64  62  50  63  74  55  63  52  69  60  40  49  29  78  65  95  32  38  42  63  64  76  85  70  62  18
 26  95  89  75  36  61  91  95  29  79  93  59  95  67  24  95  92  35  62  47  39  95  74  93  61  95  29
 26  57  79  74  33  92  56  54  35  64  74  54  86  65  40  89  97  41  65  68  37  91  80  97  56  95  19
 19  91  95  79  24  88  90  82  28  83  73  67  79  66  40  95  78  59  84  57  39  69  75  97  65  94  27
 47  66  54  53  42  70  59  68  67  58  49  40  50  27  53  67  84  49  38  40  62  61  83  86  60  64  20
 23  82  87  72  18  96  90  87  31  79  81  84  79  55  32  87  96  78  65  79  33  75  91  96  92  94  33
 20  89  83  77  32  98  96  72  31  72  60  59  64  78  29  82  98  53  60  51  34  79  64  98  67  89  30
 21  74  88  58  29  89  74  82  29  66  68  40  66  77  40  92  88  96  56  56  43  81  89  97  61  93  25
 22  48  91  84  23  93  69  80  34  76  79  72  55  74  36  56  96  76  71  74  38  98  77  98  75  86  25
 33  89  58  42  38  87  37  71  39  69  70  79  84  53  43  96  87  85  49  41  50  82  76  98  61  82  16
 64  55  55  45  67  59  54  71  58  57  56  43  40  29  64  53  93  35  41  50  51  49  71  92  78  66  21
 22  96  87  92  29  95  93  73  37  79  92  50  93  83  24  59  97  28  73  63  39  96  75  97  79  97  42
 23  88  86  80  45  89  83  55  41  85  89  68  89  89  66  89  75  81  73  44  11  75  89  89  73  89  38
 28  66  68  54  27  70  73  77  31  84  66  66  63  64  39  83  90  60  53  42  44  71  82  98  64  71  21
 30  95  64  88  32  96  90  57  34  85  53  67  74  76  41  63  76  84  57  30  44  65  87  99  61  73  18
 25  89  94  92  28  96  88  43  32  85  78  80  88  82  35  95  97  43  61  51  40  77  76  95  68  77  22
 46  60  62  54  47  79  53  75  54  69  56  45  46  25  53  53  80  39  37  45  70  63  68  83  71  63  21
 22  87  78  80  19  93  92  96  24  80  94  64  93  60  31  94  95  59  68  93  46  88  97  97  62  82  42
 15  94  84  83  25  94  81  51  31  94  78  64  83  54  34  78  94  61  67  90  53  94  65  94  49  84  40
 33  69  72  76  36  77  77  74  25  72  76  71  70  73  40  76  77  71  55  47  39  57  37  57  77  77  21
 28  75  58  54  30  75  75  79  40  84  65  52  56  40  31  78  96  52  51  60  51  73  71  95  67  78  22
 26  64  79  56  25  94  72  52  27  72  69  62  63  48  39  82  94  75  73  59  44  65  67  94  52  60  28
 37  47  48  35  42  53  54  48  46  57  44  45  43  41  48  41  68  57  36  42  50  51  59  86  62  65 100
"""
# table ends


def fold(text: str) -> str:
    """The text in lower case without accents.

    >>> fold("Łódź, Größe")
    'lodz, grosse'
    """
    text = text.lower()
    if text.isascii():
        return text
    # Most of a text is plain already, and the rest of it repeats: the same few quotation marks, accents or words.
    return BEYOND_ASCII.sub(lambda match: _folded(match[0]), text)


@lru_cache(maxsize=4096)
def _folded(run: str) -> str:
    return MARKS.sub("", unicodedata.normalize("NFKD", run.translate(OTHER_LETTERS)))


def plain_words(tokens: Iterable[str]) -> list[str]:
    """The words of a folded text that are nothing but small Latin letters, so that code, numbers and names of parts drop out.

    >>> plain_words(["(one),", "TM", "x2"])  # folding makes capitals of signs such as the trade mark
    ['one']
    """
    bare = [token if token.isalpha() else token.strip(AROUND) for token in tokens]
    return [word for word in bare if word.isascii() and word.isalpha() and word.islower()]


def likelihood(words: Iterable[str]) -> float | None:
    """The mean logarithm (base 2) of how likely each letter is after the one before it; None where there are too few pairs."""
    text = f" {' '.join(words)} ".encode("ascii")
    count = len(text) - 1
    if count < LEAST:
        return None
    # Each pair as one number of two bytes, and all of them looked up in one call: this is done for every page.
    interleaved = bytearray(2 * count)
    interleaved[::2], interleaved[1::2] = text[:-1], text[1:]
    pairs = memoryview(interleaved).cast("H").tolist()
    tenths: tuple[int, ...] = itemgetter(*pairs)(_tenths())
    return (sum(tenths) / -10 + WEIGHT * ORDINARY) / (count + WEIGHT)


@cache
def _tenths() -> list[int]:
    """The table by pairs: each at the number that its two bytes are in the memory of this machine."""
    edges = f"{LETTERS} "
    tenths = [0] * (1 << 16)
    for first, row in zip(edges, TABLE.split("\n")[1:], strict=False):
        for second, entry in zip(edges, row.split(), strict=True):
            tenths[int.from_bytes((first + second).encode("ascii"), sys.byteorder)] = int(entry)
    return tenths
