from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from experiment.models import Review
from lib.jobs import leases
from scoring.management.writing import (
    WritingCommand,
    check_over,
    content_of,
    find_field,
    read_asked,
    renew,
    run_data,
    spending_lines,
)
from scoring.models import ReviewingRun
from scoring.services import model_reviews


class Command(WritingCommand):
    help = "Have a language model review a field's test cases in review. People see its verdict after their own."
    generator_flag = "--reviewer"

    def handle(self, *args: Any, **options: Any) -> None:
        research_field, asked = find_field(options), read_asked(options)
        told = content_of(options["instructions"])
        draft = model_reviews.review_run(
            research_field, asked, instructions=told, limit=options["limit"]
        )
        run = self._run_for(draft, options)
        run = self.work_off(run, model_reviews.run, ("reviews", "test cases"), options)
        self.report(options, _data(run), _lines(run))
        check_over(run)

    def _run_for(self, draft: ReviewingRun, options: Mapping[str, Any]) -> ReviewingRun:
        with transaction.atomic():
            same = model_reviews.newest_open(draft) if options["resume"] else None
            if same is None:
                draft.save()
            else:
                draft = renew(leases.reopen(same), draft)
            leases.reserve(draft)
        return draft


def _data(run: ReviewingRun) -> dict[str, Any]:
    found = run.reviews.select_related("item")
    return {
        **run_data(run, model_reviews.spent(run)),
        "reviews": [
            {"item": review.item.key, "verdict": review.verdict, "finish": review.finish}
            for review in found
        ],
    }


def _lines(run: ReviewingRun) -> Iterator[str]:
    counted = Counter(run.reviews.values_list("verdict", flat=True))
    told = [f"{counted[v]} {Review.Verdict(v).label}" for v in Review.Verdict if counted[v]]
    told += [f"{counted['']} without a verdict"] if counted[""] else []
    yield f"Run {run.pk}, {run.model_name}: {', '.join(told) or 'nothing reviewed'}."
    yield from spending_lines(model_reviews.spent(run))
