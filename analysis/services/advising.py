"""Advice for a study's test cases: what its adviser chooses, and how sure it is, calibrated out of sample and then frozen."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from scipy.special import expit

from analysis.data import tokens
from analysis.services.advisers import KINDS
from analysis.services.evidence import Evidence
from analysis.stats import NotEnough
from analysis.stats.advice import METHOD, calibrated, passage_shares, planted
from analysis.stats.arrays import Bools, Floats
from experiment.domain.markup import Alternation
from experiment.models import Advice, Adviser, Item, Study
from experiment.services import audit
from experiment.services.advisers import advisable_items, keys_of
from lib.formatting import count
from scoring.models import ScoringRun

SEED = 42
PLANTED = "Advice is correct on the stated share of the test cases, in total and of each kind."


@dataclass(frozen=True)
class WorkedOut:
    """Advice about the test cases that are to be frozen; said: how it came about; is_more: beside what is frozen."""

    adviser: Adviser
    rows: Sequence[Advice]
    said: dict[str, Any]
    is_more: bool

    def freeze(self, now: datetime, *, by: User | None = None) -> None:
        """Store it."""
        adviser = self.adviser
        if self.is_more:
            more = {"at": now.isoformat(), "items": len(self.rows), **self.said}
            adviser.version = {**adviser.version, "more": [*adviser.version.get("more", []), more]}
        else:
            adviser.advice.all().delete()
            adviser.frozen_at, adviser.version = now, self.said
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


def check(study: Study, to_add: Set[int] | None = None) -> None:
    """Raise what `work_out` would about test cases on which the adviser has no choice; nothing is fitted for it."""
    adviser, items = _asked(study, to_add)
    if not adviser.is_planted:
        _known(adviser, KINDS[adviser.kind].evidence(adviser, items), items, to_add)


def work_out(study: Study, to_add: Set[int] | None = None, *, seed: int = SEED) -> WorkedOut:
    """Advice of the study's adviser: about test cases with these keys, which have no frozen advice, or about all of them anew.

    Anew, it is of paused ones what it can say, since they may be resumed.

    Raises:
        ValidationError: there is no adviser, or nothing is frozen to be added to; or it cannot say anything of a test case that is
            to be added or can be drawn, or not how sure it is.
    """
    adviser, items = _asked(study, to_add)
    if adviser.is_planted:
        p = adviser.planted_accuracy
        assert p is not None
        rows_now = adviser.advice.none() if to_add is None else adviser.advice.all()
        frozen = dict(rows_now.values_list("item", "picks_original"))
        given = {n: frozen[item.pk] for n, item in enumerate(items) if item.pk in frozen}
        right = planted([item.stratum for item in items], p, seed=seed, given=given)
        rows = [
            Advice(adviser=adviser, item=item, picks_original=bool(is_right), p_chosen=p)
            for item, is_right in zip(items, right, strict=True)
        ]
        said = {"method": PLANTED, "seed": seed, **_numbers(rows)}
    else:
        try:
            rows, said = _calibrated(adviser, items, to_add, seed)
        except NotEnough as error:
            raise ValidationError(str(error)) from error
    if to_add is not None:
        rows = [row for row in rows if row.item_id in to_add]
    return WorkedOut(adviser, rows, said, is_more=to_add is not None)


def _asked(study: Study, to_add: Set[int] | None) -> tuple[Adviser, list[Item]]:
    adviser = Adviser.objects.filter(study=study).first()
    if adviser is None:
        raise ValidationError("The study has no adviser.")
    if to_add is not None and adviser.frozen_at is None:
        raise ValidationError(
            "No advice was frozen before participants could enter. Copy the study to start again with advice."
        )
    adviser.study = study
    # Sorted here, since databases disagree on the order of texts, and draws and folds go by it
    return adviser, sorted(advisable_items(study), key=lambda item: (item.key, item.version))


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


def _calibrated(
    adviser: Adviser, items: Sequence[Item], to_add: Set[int] | None, seed: int
) -> tuple[list[Advice], dict[str, Any]]:
    kind = KINDS[adviser.kind]
    evidence = kind.evidence(adviser, items)
    known = _known(adviser, evidence, items, to_add)
    towards = np.column_stack([each.towards_original for each in evidence.values()])[known]
    runs = sorted({run for each in evidence.values() for run in each.runs})
    items = [item for item, is_known in zip(items, known, strict=True) if is_known]
    work = [item.work for item in items]
    joined = kind.joined(list(evidence), towards, work, seed)
    strength, method = joined or (towards[:, 0], METHOD)
    right = (strength > 0) | _by_lot(strength == 0, seed)
    fits: dict[str, Any] = {}
    if joined:  # its fits have not seen the test case, and need no calibration
        p = expit(np.abs(strength))
    else:
        found = calibrated(np.abs(strength), right, seed=seed, work=work)
        p = found.p
        fits = {
            "folds": len(found.coefficients),
            "fits": [None if fit is None else list(fit) for fit in found.coefficients],
            "raised_to_half": found.n_raised,
        }
    scored = [run for run in runs if run > 0]
    has_passages = adviser.shows_passages and kind.has_passages
    nats_of = _passages(scored, items) if has_passages else {}
    shares = {
        n: passage_shares(nats, picks_original=bool(right[n])).tolist()
        for n, nats in nats_of.items()
    }
    rows = [
        Advice(
            adviser=adviser,
            item=item,
            picks_original=bool(right[n]),
            p_chosen=float(p[n]),
            passages=shares.get(n, []),
        )
        for n, item in enumerate(items)
    ]
    said = {"method": method, "seed": seed, "runs": runs, **fits}
    return rows, said | _numbers(rows) | {"ties": int((strength == 0).sum())}


def _by_lot(tied: Bools, seed: int) -> Bools:
    """(n,) half of the ties, drawn: whoever advises must choose, and advice is right as often as the adviser's accuracy says."""
    rng = np.random.default_rng([seed, 1])
    drawn = rng.permutation(np.flatnonzero(tied))
    chosen = np.zeros(len(tied), dtype=bool)
    chosen[drawn[: (len(drawn) + int(rng.integers(2))) // 2]] = True
    return chosen


def _known(
    adviser: Adviser,
    evidence: Mapping[str, Evidence],
    items: Sequence[Item],
    to_add: Set[int] | None,
) -> Bools:
    """(n,) whether there is evidence of an item, in a team from every model; each that must be advised on needs it."""
    towards = np.column_stack([each.towards_original for each in evidence.values()])
    known: Bools = np.asarray(np.isfinite(towards).all(axis=1))
    needed = keys_of(adviser.study.drawable_items) if to_add is None else to_add
    if n_unknown := sum(
        item.pk in needed and not is_known for item, is_known in zip(items, known, strict=True)
    ):
        raise ValidationError(
            f"The adviser has not judged {count(n_unknown, 'test case')}. Complete the missing runs or judgments, or select another adviser."
        )
    return known


def _numbers(rows: Sequence[Advice]) -> dict[str, Any]:
    """accuracy: share of right advice; mean_p: how sure it says to be, on average."""
    return {
        "test_cases": len(rows),
        "accuracy": float(np.mean([row.picks_original for row in rows])) if rows else None,
        "mean_p": math.fsum(row.p_chosen for row in rows) / len(rows) if rows else None,
        "with_passages": sum(bool(row.passages) for row in rows),
    }


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
        starts, at = [], 0  # characters at which alternations begin
        for segment in item.segments:
            if isinstance(segment, Alternation):
                starts.append(at)
                at += len(getattr(segment, version))
            else:
                at += len(segment.text)
        # A token belongs to the last alternation that begins before its end; those before the first to none
        place = np.searchsorted(starts, own["end"].to_numpy(), side="left") - 1
        weights = np.nan_to_num(-own["logprob"].to_numpy(dtype=float))
        kept = place >= 0
        nats[version] = np.bincount(place[kept], weights[kept], minlength=len(starts))
    return np.asarray(nats["altered"] - nats["original"], dtype=float)
