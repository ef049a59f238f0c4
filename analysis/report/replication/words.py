"""replication.md: properties of the data, then the differences and everything else in the paper's order."""

from collections.abc import Iterable, Iterator

from analysis.report.replication.build import Comparison, Replication, Verdict
from analysis.report.replication.facts import Facts
from analysis.report.replication.printed import WORDS
from lib import formatting as f
from lib.markdown import Row, blocks, table
from lib.names import escaped

VERDICTS = {
    Verdict.AGREES: "agrees",
    Verdict.DIFFERS: "differs",
    Verdict.NOT_PRINTED: "no number is printed",
    Verdict.NOT_IN_FILES: "not in the imported files",
    Verdict.ABSENT: "not computed",
}
INTRODUCTION = (
    "This page compares the numbers that the BrainBench paper prints with those recomputed from this database, for human- and "
    "machine-created test cases. Where a figure shows values without printing numbers, it gives the values. "
    "A printed number agrees when the recomputed one rounds to it. In Table S3, a tolerance of 0.01 applies, because the solver's "
    "early stop can change the value by that much. Where the paper uses words instead of a number (“about”, “more than half”, "
    "“every”), the column “printed” says how they were interpreted. "
    "Figures have two numbers where the supplements of the preprint and the article differ. Numbers that are “not in the imported "
    "files” cannot be computed from this copy of the published data; the last column says what it lacks."
)
ABOUT_DATA = "This table compares properties of the imported files with what a reader would expect."
AS_EXPECTED, NOT_AS_EXPECTED, NOT_COMPUTED = "as expected", "not as expected", "not computed"


def markdown(replication: Replication, title: str) -> str:
    """The whole file; title: of the study, whose people chose it."""
    counts = [(VERDICTS[verdict], str(len(replication.of(verdict)))) for verdict in Verdict]
    compared = ("value", "printed", "recomputed", "verdict", "why")
    differing = [_row(one, with_place=True) for one in replication.of(Verdict.DIFFERS)]
    expected = ("what", "one would expect", "data", "verdict", "why")
    found = [*_facts_of_files(replication.facts), *_facts_of_results(replication.facts)]
    cells = []
    for own in replication.cells:
        n, n_above = len(own.known), sum(value > 0 for value in own.known)
        about = f"On {own.source}-created test cases, in percentage points."
        head = ("model", *map(escaped, own.subfields))
        lines = [(escaped(model), *(f.number(v, 1) for v in row)) for model, row in own.models]
        cells += [
            f"{about} Of {n} cells {n_above} are above 0.",
            _table(head, "-" + ":" * len(own.subfields), lines),
        ]
    parts = [
        f"# Replication: {escaped(title)}",
        INTRODUCTION,
        _table(("verdict", "rows"), "-:", counts),
        "## Differences",
        _table(compared, "-::--", differing),
        "## Properties of the data",
        ABOUT_DATA,
        _table(expected, "-----", found),
        "## Models minus people, by subfield",
        *(cells or ["None."]),
    ]
    for place, comparisons in replication.by_place:
        rows = [_row(one, with_place=False) for one in comparisons]
        parts += [f"## {escaped(str(place))}", _table(compared, "-::--", rows)]
    return blocks(parts)


def _table(head: Row, sides: str, rows: Iterable[Row]) -> str:
    rows = list(rows)
    return table(head, rows, sides) if rows else "None."


def _row(one: Comparison, *, with_place: bool) -> Row:
    place = f"{escaped(str(one.row.place))}: " if with_place else ""
    recomputed = "" if one.recomputed is None else f"{one.recomputed:.7g}"
    why = ""
    match one.verdict:
        case Verdict.DIFFERS if not one.explained:
            why = "No reason is known."
        case Verdict.DIFFERS:
            instead = "" if one.instead is None else f"{one.instead:.7g}"
            why = WORDS[one.row.why].format(instead=instead)
        case Verdict.AGREES:
            why = WORDS.get(one.row.remark, "")
        case Verdict.NOT_IN_FILES:
            why = WORDS[one.row.not_in_files]
        case Verdict.ABSENT if one.missing:
            why = escaped(f"{one.missing.reason} {one.missing.needed}".strip())
    return (
        f"{place}{escaped(one.row.what)}",
        one.row.printed_words,
        recomputed,
        VERDICTS[one.verdict],
        why,
    )


def _facts_of_files(facts: Facts) -> Iterator[Row]:
    """Properties of the published test cases and trials."""
    damaged = facts.damaged
    yield _fact(
        "texts that were shown and scored as their authors meant them",
        "all",
        f"{damaged.n_whole} of {damaged.n_items}; damaged: {', '.join(map(escaped, damaged.keys)) or 'none'}",
        "The published parser split the text at every comma and kept only the first two pieces, or it met a missing bracket."
        if damaged.keys
        else "",
    )
    left = facts.left_out
    yield _fact(
        "trials in the published file",
        "all that were collected",
        f"only those that remained after exclusion. The file has {left.n_recognised} recognised trials and {left.n_fast} trials "
        f"under {left.min_rt_s:g} s. Its numbering has {left.n_blocks} blocks of {left.trials_per_person} trials. "
        f"{left.n_people} blocks (participants) are missing, and the other {left.n_analysed} blocks have "
        f"{left.n_trials_analysed} numbers, of which {left.n_trials} single ones are missing",
        "The file was written after the exclusion rules had been applied; it does not show which rule excluded what."
        if left.n_people or left.n_trials
        else "",
    )
    untouched = facts.untouched
    by_source = ", ".join(f"{n} on {source}-created" for source, n in untouched.by_source)
    yield _fact(
        "trials whose sliders were left untouched",
        "excluded",
        f"{untouched.n} trials have untouched sliders ({by_source}); participants who never moved one: {untouched.n_never}",
        "The rule was applied to participants who never moved any slider, not to single trials."
        if untouched.n
        else "",
    )
    others = [
        f"{escaped(one.key)} ({escaped(one.there)} there, {escaped(one.here)} here)"
        for one in facts.other_sections
    ]
    yield _fact(
        "section of each test case in the trials' file and in the test cases' file",
        "the same",
        f"{len(others)} differ: {'; '.join(others)}" if others else "none differs",
        "The two published files disagree; the section of the test cases' file is used."
        if others
        else "",
    )


def _facts_of_results(facts: Facts) -> Iterator[Row]:
    """Properties of results, which may be missing."""
    what, expected = "valid trials per human-created test case", "balanced"
    if exposures := facts.exposures:
        yield _fact(
            what,
            expected,
            f"{exposures.min} to {exposures.max} (mean {exposures.mean:.4g}, sd {exposures.sd:.3g})",
            ""
            if facts.is_balanced
            else "The global counter of the original experiment balanced the assigned trials, not the valid ones.",
        )
    else:
        yield _not_computed(what, expected)
    if isolated := facts.isolated:
        yield _fact(
            "accuracy on isolated sentences",
            "averaged within each abstract first, as the paper says",
            f"{isolated.by_item:.4f} that way; pooled over sentences {isolated.pooled:.4f}",
            ""
            if isolated.is_same
            else "The text describes the average within abstracts; the published script pools sentences.",
        )
    else:
        yield _not_computed("accuracy on isolated sentences", "averaged within abstracts")
    if tuning := facts.tuning:
        yield _fact(
            "significance of Mistral-7B's gain in accuracy after fine-tuning",
            "significant, because its perplexity is lower",
            f"{tuning.gained} gained, {tuning.lost} lost, exact McNemar p = {tuning.p:.2g}",
            ""
            if facts.is_tuning_significant
            else "The gain is not significant at 5%; the lower perplexity is.",
        )
    else:
        yield _not_computed("accuracy after fine-tuning", "improves")


def _fact(what: str, expected: str, data: str, why: str) -> Row:
    """why: what explains that it is not as expected; "" where it is."""
    return what, expected, data, NOT_AS_EXPECTED if why else AS_EXPECTED, why


def _not_computed(what: str, expected: str) -> Row:
    return what, expected, NOT_COMPUTED, NOT_COMPUTED, ""
