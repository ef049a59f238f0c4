"""The export in plain words: every cell by itself, from rows as Django reads them. Slow, to compare with."""

import csv
import io
from typing import Any

from experiment.domain import markup
from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.models import Judgment, Study
from lib.csv import cell

ETHICS = ("ethics_number", "ethics_body", "ethics_contact")


def plain_csv(study: Study, kind: str, version: int | None = None) -> bytes:
    """The set `all`, by what is stored."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.name for column in TRIAL_COLUMNS)
    judgments = Judgment.objects.filter(
        trial__participant__study=study, trial__participant__kind=kind
    )
    for judgment in judgments.order_by("trial__participant_id", "trial__position"):
        values = _values(judgment) | {"study": study.slug, "rules_version": version}
        values |= {name: getattr(study, name) for name in ETHICS}
        writer.writerow([cell(values[column.name]) for column in TRIAL_COLUMNS])
    return stream.getvalue().encode()


def _values(judgment: Judgment) -> dict[str, Any]:
    trial = judgment.trial
    person, item = trial.participant, trial.item
    consent = person.consent_version
    about_person = person.excluded_by.split()
    if person.stage != "finished":
        about_person.append("not_finished")
    about_trial = judgment.excluded_by.split()
    if trial.stratum == "catch":
        about_trial.append("catch_trial")
    rows = (item, trial, person, judgment)
    return {
        **{
            column.name: getattr(row, column.name)
            for row in rows
            for column in TRIAL_COLUMNS
            if hasattr(row, column.name)
        },
        **{name: person.demographics.get(name) for name in ("gender", "age", "country")},
        "server_ms": judgment.elapsed_ms if judgment.server_ms is None else judgment.server_ms,
        "kind": person.kind,
        "position": trial.position,
        "participant": person.public_id,
        "recruitment_source": person.external_source,
        "position_held": person.demographics.get("position"),
        "experience_years": person.demographics.get("experience_years"),
        "consent_version": None if consent is None else consent.number,
        "consent_sha256": person.consent_hash,
        "item_key": item.key,
        "item_version": item.version,
        "item_sha256": item.sha256,
        "item_source": item.source,
        "text": markup.render(markup.parse(item.markup).segments),
        "participant_excluded_by": " ".join(about_person),
        "trial_excluded_by": " ".join(about_trial),
        "flags": " ".join((*judgment.flags.split(), *person.flags.split())),
        "included": not about_person and not about_trial,
        "excluded_by": " ".join((*about_person, *about_trial)),
    }
