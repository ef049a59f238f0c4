"""Words, their stems, and lists of English words that the checks know. Pure.

The stems are only compared with each other. A few endings do for that, without another package: `increase`,
`increases`, `increased` and `increasing` are one, and a rare false match costs a curator a word of explanation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[.'\u2019-][^\W_]+)*")
MIN_STEM = 4


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENDINGS = sorted(
    _set(
        "ations ation ating ated ates ate ings ing ions ion ements ement ments ment ively ive "
        "ness ally ical ity ies ied ory ers er ed es ly al ic ance ence ant ent s y e"
    ),
    key=len,
    reverse=True,
)

# Words that say nothing of what was found
FUNCTION_WORDS = _set(
    "a an the and or but nor so yet as if than that this these those which who whom whose what when where while "
    "whereas because although though however moreover furthermore thus therefore hence also both either neither "
    "each every any all some few many much more most less least other others another same such own only even "
    "just still then there here in on at by for from to of with without within between among across along over "
    "under after before during through against into onto out up down off about around per via we our us they "
    "their them it its he she his her i my you be is are was were been being am do does did done doing have has "
    "had having can could may might must shall should will would not no none cannot very rather quite too well "
    "et al eg ie vs"
)
AUXILIARIES = _set(
    "be is are was were been being am do does did done have has had can could may might must shall should will "
    "would not no cannot to never"
)
NEGATIONS = _set("not no none cannot never neither nor without")
# Verbs of reporting: another of them leaves the finding as it was
REPORTING = _set(
    "show shows showed shown demonstrate demonstrates demonstrated suggest suggests suggested indicate indicates "
    "indicated reveal reveals revealed find finds found observe observes observed report reports reported "
    "propose proposes proposed conclude concludes concluded confirm confirms confirmed identify identifies "
    "identified describe describes described examine examines examined investigate investigates investigated "
    "explore explores explored assess assesses assessed study studies studied test tests tested measure measures "
    "measured provide provides provided imply implies implied discover discovers discovered establish "
    "establishes established highlight highlights highlighted uncover uncovers uncovered determine determines "
    "determined use uses used employ employs employed utilize utilizes utilized appear appears appeared seem "
    "seems seemed tend tends tended"
)
_MORE = (
    "increase enhance elevate raise rise rose risen strengthen facilitate potentiate promote improve amplify augment "
    "upregulate up-regulate boost accelerate expand grow grew activate excite heighten intensify prolong gain"
)
_LESS = (
    "decrease reduce lower lowered diminish decline weaken impair inhibit suppress attenuate dampen downregulate "
    "down-regulate block slow shrink deactivate lessen shorten lose lost abolish prevent disrupt deplete fall fell"
)
_IS_MORE = "higher greater larger stronger faster longer more better positive positively upward"
_IS_LESS = "less smaller weaker slower shorter fewer worse negative negatively downward"


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, its stem, and where it starts in its text."""

    text: str
    stem: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def words(text: str) -> list[Word]:
    """All words.

    >>> [word.stem for word in words("The β-rhythm increased (n = 3).")]
    ['the', 'β-rhythm', 'increas', 'n', '3']
    """
    return [Word(m[0], stem(m[0]), m.start()) for m in _WORD.finditer(text)]


def content_words(text: str) -> Iterator[Word]:
    """Words that are no function words and no bare letters or numbers."""
    for word in words(text):
        if len(word.text) > 1 and not word.text[0].isdigit() and not is_function_word(word):
            yield word


def is_function_word(word: Word) -> bool:
    return word.text.lower() in FUNCTION_WORDS


def is_name(word: str) -> bool:
    """An abbreviation or a name with a number: it means one thing wherever it stands.

    >>> is_name("VTA"), is_name("Cav2.2"), is_name("Rats"), is_name("3.5")
    (True, True, False, False)
    """
    has_letter = any(char.isalpha() for char in word)
    return has_letter and (
        any(char.isdigit() for char in word) or any(char.isupper() for char in word[1:])
    )


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """A word without its ending, in small letters.

    >>> {stem(word) for word in ("increase", "Increases", "increased", "increasing")}
    {'increas'}
    >>> stem("activation") == stem("activated"), stem("reduction") == stem("reduced"), stem("ATPs")
    (True, True, 'atp')
    """
    if is_name(word):
        return (word[:-1] if word.endswith("s") and word[:-1].isupper() else word).lower()
    small = word.lower()
    fits = (e for e in _ENDINGS if small.endswith(e) and len(small) - len(e) >= MIN_STEM)
    rest = small.removesuffix(next(fits, ""))
    # `inhibit` and `inhibition`, but `reduce` and `reduction`
    return rest[:-1] if rest.endswith("t") and len(rest) > MIN_STEM else rest


_MOVING = {stem(word): +1 for word in _MORE.split()} | {stem(word): -1 for word in _LESS.split()}
_DIRECTIONS = (
    {stem(word): +1 for word in _IS_MORE.split()}
    | {stem(word): -1 for word in _IS_LESS.split()}
    | _MOVING
)


def direction(text: str) -> int:
    """+1 where a passage speaks of more, -1 of less, 0 where of neither or both.

    >>> direction("a strong increase"), direction("was reduced"), direction("VTA")
    (1, -1, 0)
    """
    signs = {_DIRECTIONS[word.stem] for word in words(text) if word.stem in _DIRECTIONS}
    return signs.pop() if len(signs) == 1 else 0


def has_direction(word: Word) -> bool:
    return word.stem in _DIRECTIONS


def is_verb_of_direction(word: Word) -> bool:
    """True if it is a form of a verb such as to increase; the noun is often spelled alike."""
    return word.stem in _MOVING
