from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from experiment.management.finding import find_study
from experiment.models import AuditEvent, Purge, Study
from experiment.services import arrivals, audit
from experiment.services.channels import forget_ids
from experiment.services.chores import reseal
from experiment.services.reapplying import reapply_exclusions
from experiment.services.recounting import Drift, check, recount
from experiment.services.retention import NotDueError, ask, concerned, run
from experiment.services.withdrawal import Reapplied, reapply_withdrawals
from lib.commands import ReportingCommand, add_json_argument, table_lines
from lib.jobs import leases
from lib.shapes import Either

# Chore -> what it does
CHORES = {
    "recruitment-ids": "Erase recruitment IDs after the date that the consent page named, and counts of participants per address after a day. A worker does this daily.",
    "withdrawals": (
        "Repeat the withdrawals of participants whom a restored backup has brought back. `make serve` and `make demo` "
        "also do this."
    ),
    "exclusions": "Apply the study's current exclusion rules again. Imported participants do not change.",
    "counters": "Compare the rows with the counters that the drawing of test cases and the lab's pages use, and report differences.",
    "trail": "Recompute the hashes of the audit trail. The command fails if an event was changed or is missing.",
    "purge": "After the study's retention date, remove everything that could identify its participants.",
    "codes": "Store participants' own codes and model servers' keys under the current WITHDRAWAL_KEY after it was changed.",
}


class Command(ReportingCommand):
    help = "Run one of the maintenance tasks below: `chores NAME`."
    prints = Either(
        recruitment_ids={"participants": int},
        withdrawals=Reapplied,
        exclusions={"study": str, "participants_changed": int, "trials_changed": int},
        counters={"studies": int, "differences": [Drift], "repaired": bool},
        trail={
            "events": int,
            "holds": bool,
            "broken_at": int | None,
            "what": str,
            "newest_sha256": str,
        },
        purge={
            "participants": int,
            "with_details": int,
            "with_comment": int,
            "with_ids": int,
            "dry_run": bool,
        },
        codes={"resealed": int, "server_keys": int},
    )

    def add_arguments(self, parser: CommandParser) -> None:
        names = parser.add_subparsers(dest="chore", required=True, metavar="NAME")
        parsers: dict[str, ArgumentParser] = {
            name: names.add_parser(name, help=sentence, description=sentence)
            for name, sentence in CHORES.items()
        }
        for name in ("exclusions", "purge"):
            parsers[name].add_argument("study", metavar="SLUG")
        parsers["counters"].add_argument(
            "study", metavar="SLUG", nargs="?", help="default: every study"
        )
        parsers["counters"].add_argument(
            "--repair", action="store_true", help="correct counters that differ from the rows"
        )
        parsers["purge"].add_argument("--dry-run", action="store_true", help="only count")
        parsers["codes"].add_argument(
            "--old-key", required=True, type=Path, help="file with the old key"
        )
        for each in parsers.values():
            add_json_argument(each)  # type: ignore[arg-type]

    def handle(self, *args: Any, **options: Any) -> None:
        chore = getattr(self, f"_{options['chore'].replace('-', '_')}")
        chore(options)

    def _recruitment_ids(self, options: dict[str, Any]) -> None:
        arrivals.forget(timezone.now())
        n = forget_ids(timezone.now().date())
        self.report(options, {"participants": n}, [f"Erased the IDs of {n} participants."])

    def _withdrawals(self, options: dict[str, Any]) -> None:
        done = reapply_withdrawals()
        line = (
            f"{done.withdrawn} of {done.tombstones} withdrawn participants were in the database again, and have been "
            "withdrawn."
        )
        lines = [line] if done.withdrawn or options["verbosity"] else []
        self.report(options, asdict(done), lines)

    def _exclusions(self, options: dict[str, Any]) -> None:
        study = find_study(options["study"])
        changed = reapply_exclusions(study)
        if changed is None:
            raise CommandError(
                f"{study.slug}: a worker is already applying the rules. The study's Work page shows the progress."
            )
        data = {
            "study": study.slug,
            "participants_changed": changed.participants,
            "trials_changed": changed.trials,
        }
        line = f"{study.slug}: the exclusion of {changed.participants} participants and of {changed.trials} trials changed."
        self.report(options, data, [line])

    def _counters(self, options: dict[str, Any]) -> None:
        studies = [find_study(options["study"])] if options["study"] else list(Study.objects.all())
        drifts = check(studies)
        wrong = {(drift.study, drift.kind) for drift in drifts}
        if options["repair"]:
            for study in studies:
                for slug, kind in sorted(wrong):
                    if slug == study.slug:
                        recount(study, kind)
        data = {"studies": len(studies), "differences": [asdict(drift) for drift in drifts]}
        data["repaired"] = options["repair"]
        rows = [{name: str(value) for name, value in asdict(drift).items()} for drift in drifts]
        summary = f"{len(drifts)} counters differ from the rows"
        lines: Sequence[str] = [
            *table_lines(rows, left=("study", "kind", "of", "column")),
            f"{summary}; they were repaired." if options["repair"] else f"{summary}.",
        ]
        if not drifts:
            lines = [f"All counters of {len(studies)} studies are correct."]
        self.report(options, data, lines)
        if drifts and not options["repair"]:
            raise CommandError(f"{summary}. Correct them with --repair.")

    def _trail(self, options: dict[str, Any]) -> None:
        broken = audit.verify()
        newest = AuditEvent.objects.order_by("-pk").first()
        data = {
            "events": AuditEvent.objects.count(),
            "holds": broken is None,
            "broken_at": None if broken is None else broken.number,
            "what": "" if broken is None else broken.what,
            "newest_sha256": "" if newest is None else newest.sha256,
        }
        holds = f"The chain of {data['events']} events is intact."
        kept = f"Newest hash, to store elsewhere: {data['newest_sha256'] or '-'}"
        self.report(options, data, [holds, kept] if broken is None else [])
        if broken is not None:
            raise CommandError(f"Event {broken.number}: {broken.what}.")

    def _purge(self, options: dict[str, Any]) -> None:
        study = find_study(options["study"])
        try:
            people = concerned(study)
            if not options["dry_run"]:
                with transaction.atomic():  # no worker is quicker
                    # One that was killed goes on
                    opened = study.purges.filter(status__in=Purge.OPEN_STATUSES).first()
                    job = opened or ask(study, timezone.localdate())
                    leases.reserve(job)
                job = run(job)
                if job.status != Purge.Status.FINISHED:
                    why = job.error or "a worker is doing this, or it was stopped"
                    raise CommandError(f"{study.slug}: {why}")
        except NotDueError as error:
            if study.retain_until is None:
                raise CommandError(
                    f"{study.slug} has no retention date, so its personal data are not removed. Set the date first."
                ) from error
            raise CommandError(
                f"{study.slug}: personal data are kept until {study.retain_until}, which has not passed."
            ) from error
        verb = "would be made" if options["dry_run"] else "were made"
        line = (
            f"{study.slug}: {people['participants']} participants {verb} anonymous ({people['with_details']} with details, "
            f"{people['with_comment']} with a comment, {people['with_ids']} with recruitment IDs)."
        )
        self.report(options, people | {"dry_run": options["dry_run"]}, [line])

    def _codes(self, options: dict[str, Any]) -> None:
        path: Path = options["old_key"]
        try:
            done = reseal(path.read_text().strip())
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}") from error
        if done.foreign:
            raise CommandError(
                f"{done.foreign} codes belong to neither this key nor the current one, so nothing was changed."
            )
        if done.foreign_keys:
            raise CommandError(
                f"{done.foreign_keys} keys of model servers belong to neither this key nor the current one, so nothing was "
                "changed. Remove or replace them on the page Model servers."
            )
        lines = [f"{done.resealed} codes are stored under the current key."]
        if done.keys:
            lines.append(f"{done.keys} keys of model servers are stored under the current key.")
        self.report(options, {"resealed": done.resealed, "server_keys": done.keys}, lines)
