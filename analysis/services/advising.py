"""Advice for a study's test cases: what its adviser chooses, and how sure it is, calibrated out of sample and then frozen."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from scipy.special import expit, logit

from analysis.data import machines, tokens
from analysis.data.filters import ASKED, ReportOptions
from analysis.data.version import choice_runs
from analysis.stats import NotEnough
from analysis.stats.advice import METHOD, Calibrated, calibrated, passage_shares, planted
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.machines import of_models
from experiment.domain.markup import Alternation
from experiment.models import Advice, Adviser, Item, Judgment, Participant, Study
from experiment.models.items import ItemQuerySet
from experiment.services import audit
from experiment.services.advisers import advisable_items, unadvised
from scoring.domain.choosing.outcomes import JEFFREYS
from scoring.models import ScoringRun

SEED = 42
PLANTED = "Advice is correct on the stated share of the test cases, in total and of each kind."


@dataclass(frozen=True)
class Evidence:
    """What an adviser knows of test cases, in their order.

    towards_original: (n,) how strongly it prefers the original to the altered version: of a model, the difference of the
    logarithms of its perplexities, or the log-odds of its answers, in nats; of people, the log-odds of their choices; 0 is a
    tie, NaN nothing. runs: of which it is, by number; those of choices are negative. method: of a team, whose log-odds come from
    fits without the test case, and need no calibration.
    """

    towards_original: Floats
    runs: tuple[int, ...] = ()
    method: str = ""
    passages: Mapping[int, Floats] = field(default_factory=dict)


def sources_of(study: Study) -> dict[str, list[str]]:
    """What could advise in the study, by kind of adviser: names of models as reports have them, and kinds of participants."""
    finished = ScoringRun.objects.seen_in([study]).filter(
        status=ScoringRun.Status.FINISHED, condition=ScoringRun.Condition.FULL
    )
    scored = finished.order_by("language_model__name").values_list(
        "language_model__name", flat=True
    )
    asked = choice_runs(study).filter(status=ScoringRun.Status.FINISHED)
    names = asked.order_by("language_model__name").values_list("language_model__name", flat=True)
    models = [*dict.fromkeys(scored), *(f"{name}{ASKED}" for name in dict.fromkeys(names))]
    kinds = Judgment.objects.filter(trial__participant__study=study).order_by()
    judged = set(kinds.values_list("trial__participant__kind", flat=True).distinct())
    people = [kind for kind in Participant.Kind.values if kind in judged]
    return {Adviser.Kind.MODEL: models, Adviser.Kind.PEOPLE: people}


@dataclass(frozen=True)
class WorkedOut:
    """What an adviser says of the test cases that are to be frozen; said: how it came about."""

    adviser: Adviser
    rows: Sequence[Advice]
    said: dict[str, Any]

    def freeze(self, now: datetime, *, by: User | None = None) -> None:
        """Store it, in place of what was frozen before a real participant entered. The caller holds the study's row."""
        adviser = self.adviser
        if not adviser.study.version:
            adviser.advice.all().delete()
            adviser.frozen_at, adviser.version = now, self.said
        elif self.rows:
            more = {"at": now.isoformat(), "items": len(self.rows), **self.said}
            adviser.version = {**adviser.version, "more": [*adviser.version.get("more", []), more]}
        else:
            return
        Advice.objects.bulk_create(self.rows)
        adviser.version = {**adviser.version, "sha256": digest(adviser)}
        adviser.save(update_fields=["version", "frozen_at"])
        audit.record(
            audit.Action.STUDY_CHANGED,
            by=by,
            study=adviser.study,
            changed=["advice frozen"],
            test_cases=len(self.rows),
            sha256=adviser.version["sha256"],
        )


def work_out(study: Study, *, seed: int = SEED) -> WorkedOut:
    """What the study's adviser says of its test cases: until a real participant has entered of all, then of those without frozen advice.

    Of paused ones it is what it can say, since they may be resumed.

    Raises:
        ValidationError: there is no adviser, it cannot say anything of a test case that can be drawn, or not how sure it is.
    """
    adviser = Adviser.objects.filter(study=study).first()
    if adviser is None:
        raise ValidationError(_("The study has no adviser."))
    adviser.study = study
    # Sorted here, since databases disagree on the order of texts, and draws and folds go by it
    items = sorted(advisable_items(study), key=lambda item: (item.key, item.version))
    missing, needed = {item.pk for item in items}, _keys(study.drawable_items)
    if study.version:
        missing &= _keys(unadvised(study, advisable_items(study)))
        needed &= missing
    rows, said = _advise(adviser, items, needed, seed)
    return WorkedOut(adviser, [row for row in rows if row.item_id in missing], said)


def _keys(items: ItemQuerySet) -> set[int]:
    return set(items.order_by().values_list("pk", flat=True))


def digest(adviser: Adviser) -> str:
    """SHA-256 of the frozen rows, by test case, in the same order on every database."""
    rows = adviser.advice.values_list(
        "item__key",
        "item__version",
        "item__sha256",
        "picks_original",
        "p_chosen",
        "passages",
    )
    lines = "".join(json.dumps(row) + "\n" for row in sorted(rows))
    return hashlib.sha256(lines.encode()).hexdigest()


def _advise(
    adviser: Adviser, items: Sequence[Item], needed: Collection[int], seed: int
) -> tuple[list[Advice], dict[str, Any]]:
    """Rows, not stored, and what is said of how they came about; `needed` are the keys of items that must have one."""
    if adviser.is_planted:
        assert adviser.planted_accuracy is not None
        rows_now = adviser.advice.all() if adviser.study.version else adviser.advice.none()
        frozen = dict(rows_now.values_list("item", "picks_original"))
        given = {n: frozen[item.pk] for n, item in enumerate(items) if item.pk in frozen}
        strata = [item.stratum for item in items]
        right = planted(strata, adviser.planted_accuracy, seed=seed, given=given)
        rows = [
            Advice(adviser=adviser, item=item, picks_original=bool(is_right), p_chosen=p)
            for item, is_right in zip(items, right, strict=True)
            for p in [adviser.planted_accuracy]
        ]
        return rows, {"method": PLANTED, "seed": seed, **_numbers(rows)}
    try:
        return _calibrated(adviser, items, needed, seed)
    except NotEnough as error:
        raise ValidationError(str(error)) from error


def _calibrated(
    adviser: Adviser, items: Sequence[Item], needed: Collection[int], seed: int
) -> tuple[list[Advice], dict[str, Any]]:
    evidence = _evidence(adviser, items, seed)
    known = ~np.isnan(evidence.towards_original)
    if n_unknown := sum(
        item.pk in needed and not is_known for item, is_known in zip(items, known, strict=True)
    ):
        raise ValidationError(
            ngettext(
                "The adviser has no choice on %(n)d test case. Complete its run first, or choose another adviser.",
                "The adviser has no choice on %(n)d test cases. Complete its run first, or choose another adviser.",
                n_unknown,
            )
            % {"n": n_unknown}
        )
    strength = evidence.towards_original[known]
    # A tie is decided by a toss, as whoever must advise would
    toss = np.random.default_rng([seed, 1]).random(len(strength)) < 0.5
    right = (strength > 0) | ((strength == 0) & toss)
    work = [item.work for item, is_known in zip(items, known, strict=True) if is_known]
    if evidence.method:
        p, fits = expit(np.abs(strength)), {}
    else:
        found = calibrated(np.abs(strength), right, seed=seed, work=work)
        p, fits = found.p, _fits(found)
    rows = [
        Advice(
            adviser=adviser,
            item=item,
            picks_original=bool(right[n]),
            p_chosen=float(p[n]),
            passages=_shares(evidence.passages.get(place), bool(right[n])),
        )
        for n, place in enumerate(np.flatnonzero(known).tolist())
        for item in [items[place]]
    ]
    said = {"method": evidence.method or METHOD, "seed": seed, "runs": list(evidence.runs), **fits}
    return rows, said | _numbers(rows) | {"ties": int((strength == 0).sum())}


def _numbers(rows: Sequence[Advice]) -> dict[str, Any]:
    """accuracy: share of right advice; mean_p: how sure it says to be, on average."""
    return {
        "test_cases": len(rows),
        "accuracy": float(np.mean([row.picks_original for row in rows])) if rows else None,
        "mean_p": math.fsum(row.p_chosen for row in rows) / len(rows) if rows else None,
        "with_passages": sum(bool(row.passages) for row in rows),
    }


def _fits(found: Calibrated) -> dict[str, Any]:
    return {
        "folds": len(found.coefficients),
        "fits": [None if fit is None else list(fit) for fit in found.coefficients],
        "raised_to_half": found.n_raised,
    }


def _shares(nats: Floats | None, picks_original: bool) -> list[float]:
    if nats is None:
        return []
    return [float(share) for share in passage_shares(nats, picks_original=picks_original)]


def _evidence(adviser: Adviser, items: Sequence[Item], seed: int) -> Evidence:
    if adviser.kind == Adviser.Kind.PEOPLE:
        return _of_people(adviser.study, adviser.source, items)
    if adviser.kind == Adviser.Kind.TEAM:
        return _of_team(adviser, items, seed)
    found = _of_model(adviser.study, adviser.source, items)
    if not adviser.shows_passages:
        return found
    return replace(found, passages=_passages([run for run in found.runs if run > 0], items))


def _of_team(adviser: Adviser, items: Sequence[Item], seed: int) -> Evidence:
    """Nothing on test cases of which one of its models says nothing."""
    each = {name: _of_model(adviser.study, name, items) for name in adviser.members}
    towards = np.column_stack([found.towards_original for found in each.values()])
    known: Bools = np.asarray(np.isfinite(towards).all(axis=1))
    odds, runs = (
        np.full(len(items), np.nan),
        sorted({n for found in each.values() for n in found.runs}),
    )
    if not known.any():
        return Evidence(odds)
    work = [item.work for item, is_known in zip(items, known, strict=True) if is_known]
    p_original, method = of_models(list(each), towards[known], work, seed)
    odds[known] = logit(p_original)
    return Evidence(odds, tuple(runs), method)


def _of_people(study: Study, kind: str, items: Sequence[Item]) -> Evidence:
    """The majority of their valid judgments, with the log-odds of its share: ln((k + 1/2) / (n - k + 1/2))."""
    judged = Judgment.objects.of(study, kind).valid().filter(trial__item__in=items).order_by()
    counted = judged.values_list("trial__item").annotate(
        right=Count("pk", filter=Q(correct=True)), n=Count("pk")
    )
    odds = {pk: math.log((k + JEFFREYS) / (n - k + JEFFREYS)) for pk, k, n in counted}
    return Evidence(np.array([odds.get(item.pk, np.nan) for item in items]))


def _of_model(study: Study, name: str, items: Sequence[Item]) -> Evidence:
    """Of its runs those that a report of the study takes."""
    table = pd.DataFrame({"pk": np.array([item.pk for item in items], dtype=np.int64)})
    options = ReportOptions(models=(name,))
    scores = machines.read(study, table, options, prefer_imported=False, others=(name,)).scores
    scores = scores[(scores["condition"] == "full") & scores["item"].isin(table["pk"])]
    odds = dict(zip(scores["item"], scores["margin_nats"], strict=True))
    runs = tuple(sorted(set(scores["run"].astype(int).tolist())))
    strength = np.array([odds.get(item.pk, np.nan) for item in items])
    return Evidence(strength, runs)


def _passages(runs: Sequence[int], items: Sequence[Item]) -> dict[int, Floats]:
    """Place of an item -> nats by passage, of items whose tokens were stored, as `passage_shares` takes them."""
    found: dict[int, Floats] = {}
    numbers = {n: item.pk for n, item in enumerate(items)}
    for run in ScoringRun.objects.filter(pk__in=runs):
        read = tokens.read_run(run, numbers)
        if read is None:
            continue
        table = read.table[read.table["in_text"] & (read.table["unit"] == 0)]
        places = table["item"].to_numpy(dtype=np.int64)
        for n in np.unique(places).tolist():
            found[n] = _nats(items[n], table[places == n])
    return found


def _nats(item: Item, rows: pd.DataFrame) -> Floats:
    """How much less likely the altered version is, from each alternation up to the next."""
    nats = {}
    for version in ("original", "altered"):
        own = rows[rows["version"] == version]
        starts = _starts(item, version)
        # A token belongs to the last alternation that begins before its end; those before the first to none
        place = np.searchsorted(starts, own["end"].to_numpy(), side="left") - 1
        weights = np.nan_to_num(-own["logprob"].to_numpy(dtype=float))
        kept = place >= 0
        nats[version] = np.bincount(place[kept], weights[kept], minlength=len(starts))
    return np.asarray(nats["altered"] - nats["original"], dtype=float)


def _starts(item: Item, version: str) -> Ints:
    """Characters at which a version's alternations begin."""
    starts, at = [], 0
    for segment in item.segments:
        if isinstance(segment, Alternation):
            starts.append(at)
            at += len(getattr(segment, version))
        else:
            at += len(segment.text)
    return np.array(starts, dtype=np.int64)
