"""The study whose accuracies are walked: models with ties, scored, asked, tuned and advising, and people with advice."""

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.report.report import Report
from experiment.models import Item, Study
from scoring.models import ItemScore, LanguageModel, ModelChoice, ScoringRun
from tests.analysis.data.advising import advise
from tests.analysis.data.choosing import choose
from tests.analysis.report.one_accuracy.readings import (
    Names,
    Reading,
    in_table,
)
from tests.factories import make_arms, make_item, make_participant, make_study
from tests.scoring.lab.rows import ask, store, study_items

HUMAN, MACHINE = 12, 8
DEFAULT = ReportOptions(source="human")
# A model that is asked too and gives advice, one that was tuned from it, its chat partner; one that was only asked
ONE, TUNED, CHAT, ASKED = "lab/one", "lab/tuned", "lab/chat", "lab/asked"
TITLES = {ONE: "Model One", TUNED: "Model Tuned", CHAT: "Model Chat", ASKED: "Model Asked"}
Points = Mapping[str, Mapping[str, float]]  # name in results -> key of a test case -> points


@dataclass(frozen=True)
class Site:
    """points: by this file's own count."""

    study: Study
    points: Points
    report: Report
    folder: Path

    def check(self, readings: Iterator[Reading] | list[Reading], *, source: str = "") -> set[str]:
        """Each is the accuracy of its model, on the test cases of the source; the models that were read."""
        models, wrong = set(), []
        for one in readings:
            own = [p for key, p in self.points[one.model].items() if source in key]
            models.add(one.model)
            if abs(one.value - np.mean(own)) > one.half:
                wrong.append(f"{one.place}: {one.model} {one.value}, not {np.mean(own)}")
        assert wrong == []
        return models


NAMES = Names(
    called={name: name for name in (ONE, TUNED, CHAT, f"{ONE} (asked)", f"{ASKED} (asked)")}
    | {TITLES[name]: name for name in (ONE, TUNED, CHAT)}
    | {f"{TITLES[ONE]} (asked)": f"{ONE} (asked)", TITLES[ASKED]: f"{ASKED} (asked)"},
    asked={ONE: f"{ONE} (asked)"},
    base={TUNED: ONE, CHAT: ONE},
)
# On pages and in files about models that were asked alone
CHOOSING = replace(NAMES, called={k: f"{m} (asked)" for m in (ONE, ASKED) for k in (m, TITLES[m])})
SCORED, EVERY = {ONE, TUNED, CHAT}, set(NAMES.called.values())


def scored(
    study: Study, name: str, ties: list[int], wrong: list[int], n: int = HUMAN + MACHINE + 1
) -> ScoringRun:
    """With ties on these test cases, and wrong on those."""
    run = ask(study, name)
    rng = np.random.default_rng(run.pk % 100)
    original, margins = rng.uniform(8, 14, n), rng.uniform(0.02, 0.3, n)
    margins[ties] = 0
    margins[wrong] *= -1
    return store(run, [(a, a * float(np.exp(b))) for a, b in zip(original, margins, strict=True)])


def says(ties: set[int], every: int) -> Any:
    """A on both sides in ties, and in one of `every` others wrong."""

    def answer(n: int, original: str, sample: int) -> dict[str, Any]:
        other = "AB"[original == "A"]
        return {"side": "A" if n in ties else other if n % every == 1 else original, "confidence": 60.0 + n}  # fmt: skip

    return answer


def points_of() -> Points:
    """A tie is half: of perplexities, and of an equal number of right and wrong answers."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    right: dict[tuple[str, str], list[int]] = defaultdict(list)
    shown = Item.objects.filter(study_items__study__slug="memory")
    asked_about = ModelChoice.objects.filter(item__in=shown)
    for score in ItemScore.objects.filter(item__in=shown, run__condition="full"):
        a, b = score.ppl_original, score.ppl_altered
        found[score.run.language_model.name][score.item.key] = 1.0 if a < b else 0.5 if a == b else 0.0  # fmt: skip
    for choice in asked_about:
        asked = f"{choice.run.language_model.name} (asked)"
        right[asked, choice.item.key].append(1 if choice.side == choice.original_side else -1)
    for (name, key), sides in right.items():
        found[name][key] = 0.5 if sum(sides) == 0 else float(sum(sides) > 0)
    return found


def fill() -> Study:
    study = make_study(human=HUMAN, machine=MACHINE)
    for n, item in enumerate(study.items.order_by("key")):
        item.publication_date = date(2022, 1, 1) + timedelta(days=20 * n)
        item.save(update_fields=["publication_date"])
    models = {
        name: LanguageModel.objects.create(name=name, display_name=title, training_cutoff=date(2022, 6, 1))
        for name, title in TITLES.items()
    }  # fmt: skip
    LanguageModel.objects.filter(name=TUNED).update(tuned_from=models[ONE])
    LanguageModel.objects.filter(name=CHAT).update(base_partner=models[ONE], is_chat=True)
    # A test case that the runs were on, and that the study no longer shows
    dropped = make_item("memory-zz")
    study.items.add(dropped)
    scored(study, ONE, [0, 3, 6, 8], [1, 14])
    scored(study, TUNED, [1, 15], [5])
    scored(study, CHAT, [13], [2, 4, 7, 9, 16, 17], n=HUMAN + MACHINE)
    for condition in ("isolated", "swapped"):
        # As often right as wrong, whatever the model does with whole texts
        run = ask(study, ONE, condition=condition)
        run.item_scores.bulk_create(
            ItemScore(run=run, item=item, unit=unit, ppl_original=9, ppl_altered=8 + 2 * (n % 2))
            for n, item in enumerate(study_items(run))
            for unit in range(2 if condition == "isolated" else 1)
        )
        store(run, [])
    ItemScore.objects.update(zlib_original_bytes=700, zlib_altered_bytes=710)
    choose(study, ONE, says({0, 4, 8, 10}, 5))
    choose(study, ASKED, says({5}, 3))
    study.items.remove(dropped)
    arms = make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    call_command(
        "set_adviser", study.slug, "--models", ONE, "--name", "a model", stdout=io.StringIO()
    )
    for n in range(12):
        # Each arm judges each test case equally often
        person = make_participant(study, arm=arms[n // 2 % 2])
        if person.arm.is_advised:
            advise(person, "after")
    return Study.objects.get(pk=study.pk)


def shown(client: Client, name: str, *args: Any, query: str = "") -> str:
    response = client.get(reverse(f"lab:{name}", args=["memory", *args]) + query, follow=True)
    assert response.status_code == 200
    return b"".join(response).decode()


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def of_tables(files: Mapping[str, bytes]) -> Iterator[Reading]:
    for stem, file in files.items():
        yield from in_table(pd.read_csv(io.BytesIO(file)), NAMES, HUMAN, stem)


def printed_by(*command: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        call_command(*command)
    return out.getvalue()
