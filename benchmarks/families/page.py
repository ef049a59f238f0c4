"""docs/model-families.md: what a sweep found, family by family."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.families.families import N_LAYERS, WINDOW
from benchmarks.families.measuring import N_PAIRS, Measured

TOLERANCE = 1e-5  # relative, of a perplexity
EAGER_TOLERANCE = (
    1e-4  # routing and top-k selections may turn at a rounding; a wrong bias moves more
)
HEAD = """# Correctness of scores by model family

`python -m benchmarks bench families` writes this page. Do not edit it here.

The table covers {n} configurations of {n_types} model types of transformers, with random weights, {layers} layers and windows of {window}
tokens. If a model mixes kinds of layers, its last layers are of a different kind from its first. Each model is saved, loaded and scored as in a
run, with the [strategy](decisions/0008-scoring-exactly-and-fast.md) chosen for it, on {texts} texts of {lengths} tokens. The first
and last text are shorter than a window. The reference runs each text alone through transformers, with a log-softmax over the whole vocabulary, in
float64, or in float32 if the model cannot run in float64.

*Worst error* is the largest relative difference of a perplexity from the reference. *Plain loop* is the same difference for the same loop in
float32. It shares no computation between texts, so its difference consists of rounding errors alone. A decision is which
version of a pair is less surprising.

Results with {versions} on {date}, at commit {commit}: {summary}
"""
SCORED = """## Scored

| model type | configuration | class | strategy | worst error | plain loop | reference |
|---|---|---|---|---|---|---|
"""
REFUSED = """## Refused models

| model type | configuration | error message |
|---|---|---|
"""
WRONG = """## Wrong scores: do not score these models with this version

| model type | configuration | result |
|---|---|---|
"""
EAGER = """## Wrong attention in transformers

For these models, `attn=eager` gives a different perplexity from transformers' default, in the precision of the reference:

| model type | configuration | largest relative difference |
|---|---|---|
"""


@dataclass(frozen=True)
class Checked:
    """With what, when and at which commit a sweep was made."""

    versions: str
    date: str
    commit: str
    shortest: int  # tokens of a text
    longest: int


def is_right(measured: Measured) -> bool:
    """Refused where it should be, and no perplexity further off than float32 allows."""
    if measured.has_crashed:
        return False
    if measured.refused or measured.family.is_refused:
        return bool(measured.refused) and measured.family.is_refused
    return measured.worst_error <= TOLERANCE and not measured.decisions_changed


def as_markdown(results: Sequence[Measured], checked: Checked) -> str:
    head = HEAD.format(
        n=len(results),
        n_types=len({m.family.model_type for m in results}),
        layers=N_LAYERS,
        window=WINDOW,
        texts=2 * N_PAIRS,
        lengths=f"{checked.shortest} to {checked.longest}",
        versions=checked.versions,
        date=checked.date,
        commit=checked.commit,
        summary=summary(results),
    )
    wrong = [m for m in results if not is_right(m)]
    right = [m for m in results if is_right(m)]
    eager = [m for m in results if (m.eager_error or 0) > EAGER_TOLERANCE]
    tables = (
        (SCORED, [row(m) for m in right if not m.refused]),
        (REFUSED, [_cells(*_named(m), m.refused) for m in right if m.refused]),
        (WRONG, [_cells(*_named(m), _outcome(m)) for m in wrong]),
        (EAGER, [_cells(*_named(m), f"{m.eager_error:.1e}") for m in eager]),
    )
    return "\n".join([head, *(title + "".join(rows) for title, rows in tables if rows)])


def row(measured: Measured) -> str:
    """The table's row of a family that was scored."""
    m = measured
    errors = (f"{m.worst_error:.1e}", f"{m.rounding:.1e}")
    return _cells(*_named(m), f"`{m.architecture}`", m.strategy, *errors, m.reference)


def summary(results: Sequence[Measured]) -> str:
    """The sweep in a sentence."""
    scored = [m for m in results if is_right(m) and not m.refused]
    refused = [m for m in results if is_right(m) and m.refused]
    worst = max((m.worst_error for m in scored), default=0.0)
    return (
        f"{len(scored)} scored right, worst error {worst:.1e}, none of {N_PAIRS * len(scored)} decisions changed; "
        f"{len(refused)} refused; {len(results) - len(scored) - len(refused)} wrong."
    )


def lines(results: Sequence[Measured]) -> Iterator[str]:
    """A line of text for each family."""
    for m in results:
        mark = "" if is_right(m) else "WRONG: "
        yield f"{mark}{m.family.name}: {_outcome(m)} [{m.seconds:.0f} s]"


def _outcome(m: Measured) -> str:
    return m.refused or (
        f"{m.strategy}, worst error {m.worst_error:.1e} (plain loop {m.rounding:.1e}), "
        f"{m.decisions_changed} decisions changed"
    )


def _named(measured: Measured) -> tuple[str, str]:
    return measured.family.model_type, measured.family.trait


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
