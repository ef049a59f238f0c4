from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.domain.exclusion import Rules
from experiment.management.finding import find_study
from experiment.models import Participant, StudyVersion
from experiment.services.counts import default_kind
from experiment.services.study_versions import (
    ChangedParticipant,
    ChangedTrial,
    Outcome,
    UnknownVersionError,
    VersionsCompared,
    compare_versions,
)
from lib.commands import ReportingCommand, add_json_argument, table_lines
from lib.shapes import Either, fields_of

# Whom a study's rules decide about
DECIDED = [kind for kind in Participant.Kind.values if kind != Participant.Kind.IMPORTED]


class Command(ReportingCommand):
    help = (
        "List the versions of a study's rules, consent and test cases. With --compare, show the participants and "
        "trials whose exclusion differs between two versions, and the accuracy under both."
    )
    _side = {"number": int} | fields_of(Outcome)
    prints = Either(
        list={
            "study": str,
            "versions": [
                {
                    "number": int,
                    "created_at": str,
                    "made_by": str | None,
                    "reason": str,
                    "rules": Rules,
                    "consent_version": int | None,
                    "n_items": int,
                    "items_sha256": str,
                }
            ],
        },
        compare={
            "study": str,
            "kind": str,
            "rules": [{"rule": str, "before": Any, "after": Any}],
            "consent_changed": bool,
            "pay_changed": bool,
            "items_added": [str],
            "items_removed": [str],
            "before": _side,
            "after": _side,
            "participants": [ChangedParticipant],
            "trials": [ChangedTrial],
        },
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--compare", nargs=2, type=int, metavar="N")
        parser.add_argument(
            "--kind",
            choices=DECIDED,
            help="kind of participants to compare (default: the only kind that exists; with several kinds, real)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["compare"] is None:
            versions = list(study.versions.select_related("made_by", "consent").order_by("number"))
            data = {"study": study.slug, "versions": [_as_dict(version) for version in versions]}
            lines = list(table_lines(map(_cells, versions), left=("made", "by", "reason")))
            none = f"{study.slug} does not have any versions yet. The first is created when a real participant enters."
            self.report(options, data, lines or [none])
            return
        kind = options["kind"] or default_kind(study, DECIDED)
        try:
            found = compare_versions(study, kind, *options["compare"])
        except UnknownVersionError as error:
            raise CommandError(str(error)) from error
        data = {"study": study.slug, "kind": kind}
        values: dict[str, Any] = asdict(found)
        of_rules: dict[str, Any] = values.pop("decisions")
        for side, number in zip(("before", "after"), options["compare"], strict=True):
            of_rules[side] = {"number": number} | of_rules[side]
        data |= values | of_rules
        self.report(options, data, _lines(found, options["compare"], kind))


def _as_dict(version: StudyVersion) -> dict[str, Any]:
    return {
        "number": version.number,
        "created_at": version.created_at,
        "made_by": None if version.made_by is None else version.made_by.get_username(),
        "reason": version.reason,
        "rules": asdict(version.exclusion_rules),
        "consent_version": None if version.consent is None else version.consent.number,
        "n_items": len(version.items),
        "items_sha256": version.items_sha256,
    }


def _cells(version: StudyVersion) -> dict[str, str]:
    values = _as_dict(version)
    return {
        "version": str(version.number),
        "made": f"{version.created_at:%Y-%m-%d %H:%M} UTC",
        "by": values["made_by"] or "-",
        "consent": str(values["consent_version"]),
        "test cases": str(values["n_items"]),
        "reason": version.reason or "the first real participant entered",
    }


def _lines(found: VersionsCompared, numbers: Sequence[int], kind: str) -> Iterator[str]:
    rules = found.decisions
    outcomes = zip(numbers, (rules.before, rules.after), strict=True)
    rows = [
        {
            "version": str(number),
            f"valid {kind} participants": str(outcome.participants),
            "trials": str(outcome.trials),
            "accuracy": "-" if outcome.accuracy is None else f"{outcome.accuracy:.4f}",
        }
        for number, outcome in outcomes
    ]
    yield from table_lines(rows)
    for change in found.rules:
        yield f"rule {change.rule}: {change.before} -> {change.after}"
    if found.consent_changed:
        yield "consent: another text"
    if found.pay_changed:
        yield "payment: another promise"
    yield from (f"test case added: {item}" for item in found.items_added)
    yield from (f"test case removed: {item}" for item in found.items_removed)
    for person in rules.participants:
        yield f"participant {person.participant}: {_codes(person)}"
    for trial in rules.trials:
        place = f"{trial.participant} #{trial.position} ({trial.item_key})"
        yield f"trial {place}: {_codes(trial)}"
    if not rules.participants and not rules.trials:
        yield "The exclusion of participants and trials does not differ."


def _codes(changed: ChangedParticipant | ChangedTrial) -> str:
    return f"{changed.before or 'included'} -> {changed.after or 'included'}"
