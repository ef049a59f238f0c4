from collections import Counter
from functools import partial
from typing import Any

from django.db import transaction

from experiment.models import Review
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
    renew,
    run_data,
    spending_lines,
)
from scoring.services import model_reviews


class Command(WritingCommand):
    help = "Have a language model review a field's test cases in review. People see its verdict after their own."
    generator_flag = "--reviewer"
    prints = Either(
        run=RUN_SHAPE | {"reviews": [{"item": str, "verdict": str, "finish": str}]},
        dry_run=DRY_RUN_SHAPE,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        research_field, asked = find_field(options), read_asked(options)
        told = content_of(options["instructions"])
        make = partial(
            model_reviews.review_run,
            research_field,
            asked,
            instructions=told,
            limit=options["limit"],
        )
        if self.foretells(options, model_reviews.forecast, [make]):
            return
        draft = make()
        with transaction.atomic():
            same = model_reviews.newest_open(draft) if options["resume"] else None
            if same is None:
                draft.save()
                run = draft
            else:
                run = renew(leases.reopen(same), draft)
            leases.reserve(run)
        run = self.work_off(run, model_reviews.run, ("reviews", "test cases"), options)

        found, spent = list(run.reviews.select_related("item")), model_reviews.spent(run)
        rows = [{"item": r.item.key, "verdict": r.verdict, "finish": r.finish} for r in found]
        counted = Counter(review.verdict for review in found)
        states = [f"{counted[v]} {Review.Verdict(v).label}" for v in Review.Verdict if counted[v]]
        states += [f"{counted['']} without a verdict"] if counted[""] else []
        said = f"Run {run.pk}, {run.model_name}: {', '.join(states) or 'nothing reviewed'}."
        data = {**run_data(run, spent), "reviews": rows}
        self.report(options, data, [said, *spending_lines(spent)])
        check_over(run)
