"""How often a report concludes what is not so: studies in which nothing is true, and every verdict of their chapters.

People and models guess, though people and test cases differ; confidence, expertise and dates go with nothing; a tuned model guesses as its
base does, and so does a model that is asked, which says that it is 50% confident; advice is right as often as a coin, and people change as many
answers towards it as away from it. Some people with advice are excluded for no reason, and all arms lose people alike.
Models answer questions equally well, and a judge grades them without bias. Two groups of as many people, who judge the same test cases,
are compared.
`python -m benchmarks bench inference` measures anew (minutes),
keeps the figures and writes the table of docs/results.md.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.dataset import ArmCounts, FlowCounts, SourceData
from analysis.report.chapter import Chapter, SourceResults
from analysis.report.chapters.participants.results.flow import Flow
from analysis.report.chapters.participants.results.trials import ItemExposures
from analysis.report.conclusions import UNSAID, is_verdict
from analysis.report.contents import chapter_named
from analysis.report.services.compare import Compared, compare, side
from analysis.stats import NotEnough
from analysis.stats.families import Family
from analysis.stats.reliance.trials import AFTER, NONE
from lib.points import points
from tests.analysis import made
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.graded_made import make_graded

HERE = Path(__file__).parent
MEASURED = HERE / "nulls.json"
DOCS = HERE.parents[2] / "docs" / "results.md"
BEGIN, END = "<!-- nulls: measured, not written by hand -->\n", "<!-- nulls end -->"
SD_PEOPLE, SD_ITEMS = 0.4, 0.8  # logits
SIZES = ((20, 12), (60, 10), (60, 30), (171, 200))  # people, test cases
EACH, N_MODELS = 9, 4
EXCLUDED = 10  # of so many people, one who had advice
CHANGED = 0.1  # of first answers, whatever is advised
N_STUDIES = {(171, 200): 40}
USUAL = 150
OF_TEAMS = 40  # whose fits take 10 to 20 seconds a study
CONCLUDING = (
    "crossed",
    "mixed_model",
    "item_differences",
    "calibration",
    "expertise",
    "advised",
    "asked",
    "publication_date",
    "finetuning",
    "flow",
    "graded_comparisons",
    "graded_agreement",
    "teams",
    "compare",
)
COMPARE = "compare"  # the page, which is no chapter
TEAMS = "teams"
FAST = tuple(name for name in CONCLUDING if name != TEAMS)
ALIKE = "mixed_model"  # in its studies, people and test cases vary alike
SD_ALIKE = 0.6
LOST = 0.15  # of the people of each arm, before they finish
OF_TEMPLATE, RATES = 5, (0.4, 0.5)  # questions; what each model answers well, and declines


def null_study(
    seed: int, n_people: int, n_items: int, sds: tuple[float, float] = (SD_PEOPLE, SD_ITEMS)
) -> SourceData:
    """sds: of people and of test cases, in logits."""
    data = made.make_data(
        n_participants=n_people, n_items=n_items, n_models=N_MODELS, trials_each=EACH,
        intercept=0.0, sd_participants=sds[0], sd_items=sds[1], seed=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    ratio = rng.normal(0, 0.06, len(data.full))
    guessed = data.full.assign(
        ppl_altered=data.full["ppl_original"] * np.exp(ratio),
        margin_nats=ratio,
        points=points(ratio),
        is_near_tie=np.abs(ratio) < 0.001,
    )
    items = data.items.assign(published=rng.permutation(data.items["published"]))
    cutoffs = data.models.assign(cutoff=np.datetime64("2023-01-10", "D"))
    data = replace(data, full=guessed, items=items, models=cutoffs, resamples=200)
    assigned = _advised(data, rng)
    reasons = np.where(assigned["participant"] % EXCLUDED == 1, "missed_catch", "")
    assigned = assigned.assign(reasons="", person_reasons=reasons)
    analysed = assigned[reasons == ""].drop(columns=["reasons", "person_reasons"])
    advised = analysed.reset_index(drop=True)
    return replace(data, advised=advised, assigned=assigned, adviser_name="a coin")


def _advised(data: SourceData, rng: np.random.Generator) -> pd.DataFrame:
    """Every other person sees advice after a first answer."""
    trials = data.trials
    n, has_advice = len(trials), (trials["participant"] % 2 == 1).to_numpy()
    first = trials["is_correct"].to_numpy(float)
    final = np.where(has_advice & (rng.random(n) < CHANGED), 1 - first, first)
    advice = (rng.random(data.n_items) < 0.5).astype(float)[trials["item"]]
    p = rng.uniform(0.55, 0.95, data.n_items)[trials["item"]]
    of_advised = np.where(has_advice, 1.0, np.nan)
    ms = trials["rt_ms"].to_numpy(float)
    return pd.DataFrame(
        {
            "participant": trials["participant"],
            "item": trials["item"],
            "arm": np.where(has_advice, "Advised", "Alone"),
            "arm_number": np.where(has_advice, 2, 1),
            "procedure": np.where(has_advice, AFTER, NONE),
            "right_before": first * of_advised,
            "right_after": final,
            "advice_right": advice,
            "p_advice": p,
            "p_shown": p * of_advised,
            "p_known": p * of_advised,
            "confidence_before": trials["confidence"] * of_advised,
            "confidence_after": rng.integers(1, 101, n).astype(float),
            "rt_before_ms": 0.7 * ms * of_advised,
            "rt_ms": ms,
            "expertise": trials["expertise"],
            "position": trials["trial_position"].astype(float),
            "original_side": trials["original_side"],
        }
    )


def _asked(data: SourceData, seed: int) -> SourceData:
    """With all models but one asked as well, in both orders."""
    return with_asked(
        data,
        *(
            (model, answers_of(np.zeros(data.n_items), confidence=_half, seed=N_MODELS * seed + model))
            for model in range(N_MODELS - 1)
        ),
    )  # fmt: skip


def _half(given: np.ndarray) -> np.ndarray:
    return np.full(len(given), 50.0)


def _leaving(data: SourceData, seed: int) -> SourceData:
    """Three arms of equal size."""
    n = -(-len(data.participants) // 3)
    rng = np.random.default_rng(seed)
    stayed = rng.binomial(n, 1 - LOST, 3)
    analysed = rng.binomial(stayed, 1 - LOST)
    arms = tuple(
        ArmCounts(f"Arm {k + 1}", n, n, 0, stay, 0, stay, (), kept)
        for k, (stay, kept) in enumerate(zip(stayed.tolist(), analysed.tolist(), strict=True))
    )
    total = FlowCounts(
        "real", None, 3 * n, 3 * n, sum(stayed.tolist()), 0, (), int(analysed.sum()),
        EACH * n, (), EACH * n, arms=arms,
    )  # fmt: skip
    return replace(data, flow=total)


def _graded(data: SourceData, seed: int) -> SourceData:
    """As many templates as the study has test cases."""
    truth = dict.fromkeys(("GPT-1", "Gemini-1", "Claude-1"), RATES)
    graded = make_graded(
        truth=truth, n_questions=OF_TEMPLATE * data.n_items, n_templates=data.n_items, seed=seed
    )
    return replace(data, graded=graded)


MADE = {"asked": _asked, "flow": _leaving, "graded_comparisons": _graded, "graded_agreement": _graded}  # fmt: skip


def compared(seed: int, size: tuple[int, int]) -> Compared:
    """The page Compare of two groups of people on the same test cases; the models' part is the same on both sides."""
    n_people, n_items = size
    both = null_study(seed, 2 * n_people, n_items)
    sides = []
    for start in (0, n_people):
        trials = both.trials[both.trials["participant"].between(start, start + n_people - 1)]
        group = replace(
            both,
            participants=both.participants[start : start + n_people].reset_index(drop=True),
            trials=trials.assign(participant=trials["participant"] - start).reset_index(drop=True),
        )
        sides.append(side("", _stored(group), group.source))
    return compare(*sides, same_people=False)


def _stored(data: SourceData) -> Any:
    """The parts of a stored report that `side` reads."""
    built = [chapter_named(name).build(data) for name in ("accuracy", "crossed")]
    table = built[0].tables["humans_items"].to_csv(index=False).encode()
    own = SourceResults(
        data.source,
        {type(one.results): one.results for one in built} | {ItemExposures: ItemExposures(None)},
    )
    return SimpleNamespace(
        report=SimpleNamespace(
            header=SimpleNamespace(participants=None),
            sources={data.source: own},
            of_study=SourceResults("", {Flow: Flow(None)}),
        ),
        result=SimpleNamespace(table_file=lambda _name: table),
        has_table=lambda *_name: True,
    )


def study_for(name: str, seed: int, size: tuple[int, int]) -> SourceData:
    """A study of this size with what a chapter is about."""
    sds = (SD_ALIKE, SD_ALIKE) if name == ALIKE else (SD_PEOPLE, SD_ITEMS)
    data = null_study(seed, *size, sds)
    return MADE[name](data, seed) if name in MADE else data


def conclusions(found: Any, path: str = "") -> Iterator[str]:
    """Where results conclude something: each verdict but those UNSAID, and each family with a clear test."""
    if is_verdict(type(found)) or isinstance(found, Family):
        is_clear = found.n_clear > 0 if isinstance(found, Family) else found.name not in UNSAID
        yield from [path] if is_clear else []
    elif is_dataclass(found) and not isinstance(found, type):
        derived = [
            n for n, v in vars(type(found)).items() if isinstance(v, property) and "verdict" in n
        ]
        for name in (*(field.name for field in fields(found)), *derived):
            yield from conclusions(getattr(found, name), f"{path}.{name}".lstrip("."))
    elif isinstance(found, Mapping):
        for name, value in found.items():
            yield from conclusions(value, f"{path}.{name}")
    elif isinstance(found, Sequence) and not isinstance(found, str):
        for value in found:
            yield from conclusions(value, path)


def concluded(data: SourceData, chapters: Sequence[Chapter]) -> dict[str, list[str]]:
    """Chapter -> its conclusions; without those that give a reason why they have no results."""
    found = {}
    for chapter in chapters:
        try:
            found[chapter.name] = [*conclusions(chapter.build(data).results)]
        except NotEnough:
            continue
    return found


def one(seed: int, size: tuple[int, int], chapters: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in chapters:
        if name == COMPARE:
            found[name] = [*conclusions(compared(seed, size).verdict, "verdict")]
        else:
            found |= concluded(study_for(name, seed, size), [chapter_named(name)])
    return found


class Measured(NamedTuple):
    """false: chapter, and each of its verdicts -> the share of studies in which it concludes something; studies: chapter -> how many."""

    false: dict[str, float]
    studies: dict[str, int]


def measure(size: tuple[int, int], n_studies: int, n_processes: int) -> Measured:
    every: list[dict[str, list[str]]] = []
    with ProcessPoolExecutor(n_processes) as pool:
        for chapters, n in (((TEAMS,), OF_TEAMS), (FAST, n_studies)):
            every += pool.map(partial(one, size=size, chapters=chapters), range(n))
    shares, studies = {}, {}
    for name in CONCLUDING:
        known = [found[name] for found in every if name in found]
        studies[name] = len(known)
        for path in ("", *sorted({path for wrong in known for path in wrong})):
            shares[f"{name} {path}".strip()] = float(
                np.mean([path in wrong if path else bool(wrong) for wrong in known])
            )
    return Measured(shares, studies)


def measured() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return rows


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = [f"{p} people, {n} items" for p, n in SIZES]
    found = [f"| chapter, and its verdicts | {' | '.join(heads)} |", "|---|" + "---|" * len(SIZES)]
    by = {(*row["size"],): row for row in rows}
    names = sorted({name for row in rows for name in row["false"]})
    for name in names:
        chapter, _, path = name.partition(" ")
        cells = [_cell(by[size], chapter, name) for size in SIZES]
        found.append(f"| {f'… `{path}`' if path else f'`{chapter}`'} | {' | '.join(cells)} |")
    return "\n".join(found) + "\n"


def _cell(row: Mapping[str, Any], chapter: str, name: str) -> str:
    """In percent, of a chapter with its error (Agresti and Coull's, above 0 where nothing was concluded); a dash where it was not measured."""
    if chapter not in row["false"]:
        return "-"
    share, n = row["false"].get(name, 0.0), row["studies"][chapter]
    if name != chapter:
        return f"{100 * share:.1f}"
    about = (share * n + 2) / (n + 4)
    return f"{100 * share:.1f} ± {100 * math.sqrt(about * (1 - about) / (n + 4)):.1f}"


def main(n_processes: int = 1) -> None:
    rows = []
    for size in SIZES:
        found = measure(size, N_STUDIES.get(size, USUAL), n_processes)
        rows.append({"size": size, **found._asdict()})
        print(json.dumps(rows[-1]), file=sys.stderr)
    MEASURED.write_text(json.dumps(rows, indent=1) + "\n")
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(before + BEGIN + lines(rows) + END + rest.split(END)[1])
