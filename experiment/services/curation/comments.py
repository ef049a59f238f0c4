"""What people of a field say about a version, or a passage of it: threads of a remark and its answers."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.domain.markup import Plain
from experiment.models import Comment, Item

MOST_SAID, MOST_QUOTED = 5_000, 1_000  # characters


@dataclass(frozen=True, slots=True)
class Thread:
    """`is_in_text`: whether the passage it is about still stands in the text as somebody reads it."""

    comment: Comment
    answers: tuple[Comment, ...]
    is_in_text: bool


def threads(item: Item) -> list[Thread]:
    """Open ones first, each in the order in which they came."""
    rows = list(item.comments.select_related("author", "resolved_by").order_by("pk"))
    answers: dict[int, list[Comment]] = {}
    for row in rows:
        if row.parent_id is not None:
            answers.setdefault(row.parent_id, []).append(row)
    found = [
        Thread(row, tuple(answers.get(row.pk, ())), _stands(row.quote, item))
        for row in rows
        if row.parent_id is None
    ]
    return sorted(found, key=lambda thread: thread.comment.resolved_at is not None)


def add(item: Item, by: User, text: str, quote: str = "") -> Comment:
    """Begin a thread. Raises ValidationError where nothing is said, or too much."""
    quote = " ".join(quote.split())
    return _store(Comment(item=item, author=by, text=text.strip(), quote=quote))


def answer(comment: Comment, by: User, text: str) -> Comment:
    """Go on with a thread; one that was resolved is open again. Raises ValidationError as `add` does."""
    thread = comment.parent or comment
    given = _store(Comment(item=thread.item, parent=thread, author=by, text=text.strip()))
    reopen(thread)
    return given


def resolve(comment: Comment, by: User) -> None:
    """A second time changes nothing."""
    unresolved = Comment.objects.filter(pk=comment.pk, parent=None, resolved_at=None)
    unresolved.update(resolved_at=timezone.now(), resolved_by=by)


def reopen(comment: Comment) -> None:
    Comment.objects.filter(pk=comment.pk).update(resolved_at=None, resolved_by=None)


def _store(comment: Comment) -> Comment:
    for name, most in (("text", MOST_SAID), ("quote", MOST_QUOTED)):
        if len(getattr(comment, name)) > most:
            message = _("This has %(most)d characters at most.")
            raise ValidationError({name: ValidationError(message, params={"most": most})})
    comment.full_clean()
    comment.save()
    return comment


def _stands(quote: str, item: Item) -> bool:
    """Whether a passage is in the text, whichever wordings it was copied from."""
    both = "".join(
        segment.text if isinstance(segment, Plain) else f"{segment.original} {segment.altered}"
        for segment in item.segments
    )
    texts = (item.original, item.altered, both, item.markup, item.expert_answer)
    return any(quote in " ".join(text.split()) for text in texts)
