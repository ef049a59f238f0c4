"""Language models review and read test cases that are not in use yet; theirs is an opinion, and decides nothing."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.template.loader import render_to_string

from experiment.models import Item, ResearchField
from experiment.services import work
from experiment.services.curation import reviews
from experiment.services.curation.reviews import may_see_difficulty, writers_of
from scoring.backends.opening import open_backend
from scoring.domain.backend import ScoringError
from scoring.domain.drafting import REVIEW_SCHEMA, read_verdict
from scoring.domain.generating import Generated
from scoring.models import ItemScreening, ModelReview, ReviewingRun
from scoring.pairs import score_pairs
from scoring.services.asking import forecast as forecasting
from scoring.services.asking.engine import Asking, Question, stored
from scoring.services.asking.settings import Asked
from scoring.services.drafting.texts import opening


def default_instructions() -> str:
    return render_to_string("scoring/drafting/review_instructions.txt").strip()


def review_run(
    research_field: ResearchField,
    asked: Asked,
    *,
    instructions: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> ReviewingRun:
    """A run, not stored yet, on the field's versions in review that this model has not reviewed as they stand.

    Raises:
        ScoringError: the model cannot be meant like this, or there is nothing to review.
    """
    asked.check()
    told = instructions.strip() or default_instructions()
    columns = asked.columns(told, by)
    print_ = asked.fingerprint(research_field.pk, told)
    done = ModelReview.objects.filter(
        item=OuterRef("pk"), sha256=OuterRef("sha256"), run__fingerprint=print_
    ).exclude(verdict="")
    rows = Item.objects.filter(field=research_field.name, status=Item.Status.IN_REVIEW)
    rows = rows.exclude(kind=Item.Kind.QUESTION)
    items = list(rows.exclude(Exists(done)).order_by("key").values_list("pk", flat=True)[:limit])
    if not items:
        raise ScoringError("This model has reviewed every test case in review.")
    return ReviewingRun(
        field=research_field, items=items, total=len(items), fingerprint=print_, **columns
    )


def newest_open(draft: ReviewingRun) -> ReviewingRun | None:
    """The newest run of the same model and instructions that did not come to its end."""
    same = ReviewingRun.objects.filter(fingerprint=draft.fingerprint)
    return same.exclude(status=ReviewingRun.Status.FINISHED).order_by("-pk").first()


@transaction.atomic
def start(draft: ReviewingRun, by: User) -> ReviewingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run."""
    ResearchField.objects.select_for_update().get(pk=draft.field_id)
    if (same := newest_open(draft)) is not None and same.is_open and same.items == draft.items:
        return same
    draft.save()
    work.start(draft, by)
    return draft


class _Reviewing(Asking[ReviewingRun]):
    left = "Test cases"

    @staticmethod
    def answers(job: ReviewingRun) -> QuerySet[ModelReview]:
        return job.reviews.all()

    @staticmethod
    def first_questions(job: ReviewingRun, done: Collection[int] = ()) -> Iterator[Question]:
        schema = REVIEW_SCHEMA if job.instructions == default_instructions() else None
        items = Item.objects.in_bulk([pk for pk in job.items if pk not in done])
        for item in items.values():
            turns = opening(job.instructions, job.field, item.subfield, item.markup)
            yield Question(item.pk, turns, len(turns), schema)

    @staticmethod
    def earlier(job: ReviewingRun) -> QuerySet[ModelReview]:
        return ModelReview.objects.filter(run__fingerprint=job.fingerprint)

    def go_on(self) -> None:
        done = set(self.job.reviews.values_list("item", flat=True))
        self.items = Item.objects.in_bulk([pk for pk in self.job.items if pk not in done])
        self.job.done = self.job.reviews.count()
        self.job.total = self.job.done + len(self.items)
        self.lease.advance(total=self.job.total)
        if self.items:
            self.ask(self.first_questions(self.job, done))

    def store(self, question: Question, answer: Generated) -> None:
        item = self.items[question.row]
        found = read_verdict(answer.text)
        with transaction.atomic():
            ModelReview.objects.create(
                run=self.job,
                item=item,
                sha256=item.sha256,
                verdict=found.verdict if found else "",
                reasons=found.reasons if found else "",
                messages=[asdict(message) for message in question.messages],
                **stored(answer),
            )
            self.job.done = self.job.reviews.count()
            self.lease.advance(done=self.job.done)
        self.count(answer, is_read=found is not None)


forecast = partial(forecasting.forecast, _Reviewing)
run, spent = _Reviewing.run, _Reviewing.spent


@dataclass(frozen=True, slots=True)
class Opinions:
    """The latest verdict of each model, and how hard it finds the text."""

    reviews: tuple[ModelReview, ...] = ()
    screenings: tuple[ItemScreening, ...] = ()


def opinions(item: Item, user: User) -> Opinions:
    """The opinions that the user may see; empty for a person who could still review the text."""
    research_field = ResearchField.objects.filter(name=item.field).first()
    if research_field is None or reviews.is_awaited(item, research_field, user):
        return Opinions()
    given: tuple[ModelReview, ...] = ()
    if item.is_frozen or reviews.own(item, user) or user in writers_of(item):
        found = item.model_reviews.filter(sha256=item.sha256).exclude(verdict="")
        latest = {r.run.model_name: r for r in found.select_related("run").order_by("pk")}
        given = tuple(latest.values())
    if not may_see_difficulty(user, item):
        return Opinions(given)
    return Opinions(given, tuple(item.screenings.filter(sha256=item.sha256)))


UNUSED = (Item.Status.DRAFT, Item.Status.IN_REVIEW)


def unscreened(research_field: ResearchField, model: str, prompt: str) -> list[Item]:
    """The field's drafts and versions in review whose text this model has not read."""
    unused = Item.objects.filter(field=research_field.name, status__in=UNUSED)
    items = unused.exclude(kind=Item.Kind.QUESTION).order_by("key")
    read = set(
        ItemScreening.objects.filter(item__in=items, model=model, prompt=prompt).values_list(
            "item", "sha256"
        )
    )
    return [item for item in items if (item.pk, item.sha256) not in read]


def screen(
    items: Sequence[Item],
    kind: str,
    args: dict[str, str],
    model: str,
    prompt: str,
    on_done: Callable[[int], None],
) -> list[ItemScreening]:
    """Score both versions of each text, by the same path as everywhere, and keep the perplexities at once.

    Raises:
        ScoringError: the model cannot be had, or cannot score a text.
    """
    kept = []
    with closing(open_backend(kind, args)) as backend:
        for n, item in enumerate(items, start=1):
            pair = (item.original, item.altered)
            try:
                (scored,) = score_pairs({item.key: pair}, backend, prompt)
            except ScoringError as error:
                raise ScoringError(f"{error} Screened before it: {n - 1}.") from error
            found = {"ppl_original": scored.original.ppl, "ppl_altered": scored.altered.ppl}
            row, _ = ItemScreening.objects.update_or_create(
                item=item, sha256=item.sha256, model=model, prompt=prompt, defaults=found
            )
            kept.append(row)
            on_done(n)
    return kept
