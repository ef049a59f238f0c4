from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from experiment.imports.read.rows import FileRefusedError, read_content
from experiment.management.importing import add_sheet
from experiment.models import ResearchField
from lib.jobs import leases
from lib.shapes import Either
from scoring.management.writing import (
    DRY_RUN_SHAPE,
    RUN_SHAPE,
    WritingCommand,
    check_over,
    content_of,
    find_field,
    read_asked,
    run_data,
    spending_lines,
)
from scoring.models import GeneratedDraft
from scoring.services.asking.settings import newest_same
from scoring.services.drafting import runs
from scoring.services.drafting.sources import SourceAbstract, of_fetched, of_table


class Command(WritingCommand):
    help = "Have a language model draft test cases from abstracts; people decide on the drafts."
    prints = Either(
        run=RUN_SHAPE
        | {
            "states": {str: int},
            "drafts": [
                {"row": int, "state": str, "item": str | None, "attempts": int, "problems": [str]}
            ],
        },
        dry_run=DRY_RUN_SHAPE,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from",
            dest="source",
            type=Path,
            required=True,
            metavar="PATH",
            help="spreadsheet, CSV or Parquet with columns abstract, doi, subfield, publication_date, of which only abstract is required; or "
            "PubMed abstracts from `corpus fetch`, a .jsonl file or a folder",
        )
        add_sheet(parser)
        super().add_arguments(parser)
        parser.add_argument(
            "--repairs",
            type=int,
            default=3,
            choices=range(runs.MOST_REPAIRS + 1),
            metavar="K",
            help="maximum number of corrections by the model (default: 3)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        research_field = find_field(options)
        try:
            abstracts = self._abstracts(options, research_field)
        except ValidationError as error:
            raise CommandError("\n".join(error.messages)) from error
        make = partial(
            runs.draft_run,
            research_field,
            abstracts,
            read_asked(options),
            instructions=content_of(options["instructions"]),
            repairs=options["repairs"],
        )
        store = partial(runs.store, abstracts=abstracts)
        if self.foretells(options, runs.forecast, [lambda: store(make())]):
            return
        draft = make()
        how = (runs.can_resume, leases.reopen, options, store)
        run = self.go_on_or_begin(draft, newest_same(draft), *how)
        run = self.work_off(run, runs.run, ("drafts", "abstracts"), options)

        drafts, rows = list(run.drafts.select_related("item").prefetch_related("attempts")), []
        for stored in drafts:
            attempts = list(stored.attempts.all())
            last = attempts[-1:]
            problems = [found.message for one in last for found in one.findings]
            row = {
                "row": stored.row,
                "state": stored.state,
                "item": stored.item.key if stored.item else None,
                "attempts": len(attempts),
                "problems": problems + [one.detail for one in last if one.detail],
            }
            rows.append(row)
        states, spent = Counter(stored.state for stored in drafts), runs.spent(run)
        told = [f"{n} {GeneratedDraft.State(s).label}" for s, n in sorted(states.items())]
        lines = [f"Run {run.pk}, {run.model_name}: {', '.join(told)}.", *spending_lines(spent)]
        self.report(options, {**run_data(run, spent), "states": states, "drafts": rows}, lines)
        check_over(run)

    def _abstracts(
        self, options: Mapping[str, Any], research_field: ResearchField
    ) -> list[SourceAbstract]:
        path, limit, left_out = options["source"], options["limit"], Counter[str]()
        if path.is_dir() or path.suffix == ".jsonl":
            found = of_fetched(path, research_field, limit, left_out)
            if +left_out:
                told = ", ".join(f"{n:,} ({why})" for why, n in (+left_out).items())
                self.stderr.write(f"Abstracts left out: {told}.")
            return found
        try:
            data = read_content(path)
            return of_table(data, research_field, options["sheet"])[:limit]
        except FileRefusedError as error:
            raise CommandError(str(error)) from error
