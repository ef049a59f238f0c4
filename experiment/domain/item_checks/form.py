"""The form of a text, the publication behind it, and other items that are nearly the same. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from rapidfuzz.distance import Indel

from experiment.domain.item_checks.findings import (
    Facts,
    Finding,
    Level,
    Other,
    Place,
    placed,
    unaltered,
    versions,
)
from experiment.domain.looks import looks, typed_with
from experiment.domain.markup import Abstract, Alternation, Plain, render
from experiment.domain.markup_between import written_alike
from experiment.domain.single_brackets import single_pairs

# The paper's abstracts have 122 to 336 words; the built-in demo's are shorter on purpose.
MIN_WORDS, MAX_WORDS = 60, 400
# A passage much longer than its counterpart gives the answer away to people and models alike.
MAX_LENGTH_RATIO = 3.0
MIN_LENGTH_DIFFERENCE = 20
LONG_PASSAGE = 200

# The dot of an abbreviation is no end: `et al., 2010`, `(i.e., both)`
_DOUBLED = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)(?<!\bal)(?<!\betc)(?<!\bvs)[.,;:]\s*[.,;:](?!\.)", re.I
)
_STRAY_SPACE = re.compile(r" {2,}| [.,;:](?:\s|$)")
TYPING = "A typing error in one version can reveal which version is the original."


def check_form(abstract: Abstract) -> Iterator[Finding]:
    """Look the form over.

    >>> from experiment.domain.markup import parse
    >>> text = "Cells [[grew., shrank.]]. " + "More words follow here. " * 20
    >>> {warning.code for warning in check_form(parse(text))}
    {'doubled_punctuation'}
    """
    n_words = len(abstract.original.split())
    if not MIN_WORDS <= n_words <= MAX_WORDS:
        message = f"{n_words} words; abstracts usually have {MIN_WORDS} to {MAX_WORDS}"
        reason = "Reading times and models' scores of very short or long texts are not comparable."
        yield Finding("length", Level.WARNING, message, reason)
    yield from _check_versions(abstract)
    yield from _check_passages(abstract)


def check_looks(abstract: Abstract) -> Iterator[Finding]:
    """An error where the passages of an alternation look the same, a warning where a part of them does and is typed otherwise.

    >>> from experiment.domain.markup import parse
    >>> [(f.code, f.remedy) for f in check_looks(parse("It [[ﬁxed, fixed]] the [[naïve rat, nai\u0308ve mouse]]."))]
    [('same_look', 'ﬁxed'), ('hidden_difference', '[[naïve rat, naïve mouse]]')]
    """
    for one in placed(abstract):
        original, altered = one.alternation.original, one.alternation.altered
        alike = written_alike(original, altered)
        if alike == altered:
            continue
        signs = typed_with(alike, altered)
        if looks(original) == looks(altered):
            found = one.warning(
                "same_look",
                f"both passages look the same and differ only in {signs}",
                "Nobody could see a difference, so nobody could choose, and models would be told apart by an artefact of typing.",
                render([Plain(original)]),
            )
            yield replace(found, level=Level.ERROR)
        else:
            yield one.warning(
                "hidden_difference",
                f"a part that looks the same in both passages is typed with other characters: {signs}",
                "Models read a difference that people cannot see.",
                render([Alternation(original, alike)]),
            )


def check_single_brackets(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: two wordings in single brackets, which participants would see as they are.

    >>> from experiment.domain.markup import parse
    >>> [f.remedy for f in check_single_brackets(parse("Recall [rose, fell] in [[rats, mice]] [3, 4]."))]
    ['[[rose, fell]]']
    """
    for at, text in unaltered(abstract):
        for pair in single_pairs(text):
            yield Finding(
                "single_brackets",
                Level.WARNING,
                f"“{pair.written}” stands in single brackets, so both versions contain it as it is",
                f"If these are the original and the altered wording, write {pair.doubled}.",
                pair.written,
                Place("original", at + pair.start, at + pair.end),
                pair.doubled,
            )


def _check_versions(abstract: Abstract) -> Iterator[Finding]:
    for name, text in versions(abstract):
        dots_joined = text.replace("...", "\N{HORIZONTAL ELLIPSIS}  ")
        if match := _DOUBLED.search(dots_joined):
            message = f"“{match.group()}” in the {name} version"
            yield _in_version(
                "doubled_punctuation", message, name, text, match.start(), match.end()
            )
        if match := _STRAY_SPACE.search(text):
            message = f"stray space near character {match.start() + 1} of the {name} version"
            yield _in_version("spacing", message, name, text, match.start(), match.end())
        if (at := _unpaired(text)) is not None:
            message = f"a bracket is open in the {name} version"
            yield _in_version("brackets", message, name, text, at, at + 1)


def _in_version(code: str, message: str, name: str, text: str, start: int, end: int) -> Finding:
    """A warning about a place of a version; it is quoted with what stands around it."""
    quote = text[max(0, start - 20) : end + 20].strip()
    at = Place("original" if name == "original" else "altered", start, end)
    return Finding(code, Level.WARNING, message, TYPING, quote, at)


def _unpaired(text: str) -> int | None:
    """Where a square bracket stands that has no counterpart.

    >>> _unpaired("[a] b]"), _unpaired("[[a]"), _unpaired("[a]")
    (5, 0, None)
    """
    opened: list[int] = []
    for match in re.finditer(r"[\[\]]", text):
        if match[0] == "[":
            opened.append(match.start())
        elif not opened:
            return match.start()
        else:
            opened.pop()
    return opened[0] if opened else None


def _check_passages(abstract: Abstract) -> Iterator[Finding]:
    alternations = placed(abstract)
    for one in alternations:
        passages = one.alternation.original, one.alternation.altered
        short, long = sorted(map(len, passages))
        if long > MAX_LENGTH_RATIO * short and long - short >= MIN_LENGTH_DIFFERENCE:
            message = f"one passage is {long / short:.1f} times as long"
            yield one.warning(
                "lopsided",
                message,
                "Readers can see without knowing the field which passage was extended.",
            )
        if passages[0].casefold() == passages[1].casefold():
            message = "the passages differ only in capitals"
            yield one.warning("case_only", message, "Both versions then have the same meaning.")
    if all(len(one.alternation.original) > LONG_PASSAGE for one in alternations):
        message = (
            f"the original passage of every alternation has more than {LONG_PASSAGE} characters"
        )
        reason = "An alternation should contain only the words that differ. A long one hides the question."
        yield Finding("long_passages", Level.WARNING, message, reason)


# The first scientific journals are of 1665
FIRST_DATE = date(1665, 1, 5)
# The handbook's form: a registrant of at least four digits, a slash, and printable characters without spaces
_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/[^\s\x00-\x1f\x7f]+")


def check_record(facts: Facts, today: date) -> Iterator[Finding]:
    """Errors: the works of a study are told apart by DOI, and models' cut-offs are compared with the date.

    >>> [finding.code for finding in check_record(Facts("", doi="doi:10.1/x"), date(2026, 1, 1))]
    ['doi_form']
    """
    if facts.doi and not _DOI.fullmatch(facts.doi):
        yield Finding(
            "doi_form",
            Level.ERROR,
            f"“{facts.doi[:80]}” is not a DOI. Write it as 10.1234/abc, without https://doi.org/",
            "The DOI identifies test cases of the same publication, of which each participant sees only one.",
            facts.doi[:80],
        )
    published = facts.publication_date
    if published and not FIRST_DATE <= published <= today:
        why = "this date is in the future" if published > today else "before the first journals"
        yield Finding(
            "date",
            Level.ERROR,
            f"published on {published.isoformat()}: {why}",
            "The date is compared with the end of a model's training data.",
            published.isoformat(),
        )


# 2 M / T: M characters that both have in the same order, T characters of both together
MIN_SIMILARITY = 0.8
# Runs of words of which a near text holds one at least, spread over the text
N_PROBES, PROBE_WORDS = 8, 5
MAX_SHOWN = 3
REASON = (
    "Two test cases with the same text ask participants the same question twice, and models' scores of them are "
    "not independent."
)


def check_others(original: str, facts: Facts, others: Sequence[Other]) -> Iterator[Finding]:
    """Warnings, the nearest first.

    >>> others = [Other("sleep-2", "human", "", "Rats  sleep. They did."), Other("sleep-3", "human", "", "Mice ran.")]
    >>> [(f.code, f.message) for f in check_others("Rats sleep. They did!", Facts("sleep"), others)]
    [('near_original', 'the original is 95% the same as that of sleep-2')]
    """
    flat = _flat(original)
    best: dict[str, tuple[float, Other]] = {}
    for other in others:
        if other.key == facts.key:
            continue
        similarity = Indel.normalized_similarity(
            flat, _flat(other.original), score_cutoff=MIN_SIMILARITY
        )
        if similarity and similarity > best.get(other.key, (0.0, other))[0]:
            best[other.key] = similarity, other
    near = sorted(best.values(), key=lambda found: (-found[0], found[1].key))
    for similarity, other in near[:MAX_SHOWN]:
        is_equal = similarity == 1
        how = "the same as" if is_equal else f"{min(similarity, 0.99):.0%} the same as"
        message = f"the original is {how} that of {other.key}"
        if facts.doi and facts.doi.lower() == other.doi.lower():
            message += ", which has the same DOI"
            if facts.source != other.source:
                message += " and is of the other source"
        code = "equal_original" if is_equal else "near_original"
        yield Finding(code, Level.WARNING, message, REASON, other.key)


def probes(original: str) -> list[str]:
    """Runs of words, as written, by which a database finds texts that may be near.

    A text with fewer changes than there are runs holds one of them unchanged.

    >>> probes("Rats sleep.")
    ['Rats sleep.']
    """
    spans = [match.span() for match in re.finditer(r"\S+", original)]
    last = max(0, len(spans) - PROBE_WORDS)
    starts = sorted({round(last * n / (N_PROBES - 1)) for n in range(N_PROBES)})
    runs = [spans[start : start + PROBE_WORDS] for start in starts]
    return [original[run[0][0] : run[-1][1]] for run in runs if run]


def _flat(text: str) -> str:
    return looks(text).strip().casefold()
