"""The page on which people grade, one answer after the other, and the one on which a third settles what two differ in."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Study
from lib.pages import UnixTextField, offer, refused, sent_as_csv, show
from scoring.domain.grading.rubric import Rubric
from scoring.models import PersonGrade
from scoring.services import data_set
from scoring.services.data_set import PEOPLE
from scoring.services.grading import people
from scoring.services.grading.people import Given, GradeRefusedError
from scoring.services.grading.plans import plan_of, rubric_of
from scoring.services.grading.targets import Target, row_of

ABSTAINED = "abstained"
Task = Literal["new", "last", "settle"]
STORE = "grading"
MOST_OPEN = 12  # pages at a time
LETTERS = "qwertz"
ABSTAINED_KEY = "a"


# A radio button or a check box, and the key that chooses it
Choice = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that a page shows to somebody, and since when; seconds of the server's clock."""

    slug: str
    task: Task
    row: int
    at: float

    @property
    def seconds(self) -> float:
        return max(0.0, round(time.time() - self.at, 1))


def remember(request: HttpRequest, slug: str, task: Task, row: int) -> str:
    """A name for the answer on this page: numbers of rows would tell which answers are of one model."""
    token = secrets.token_urlsafe(16)
    known: dict[str, Any] = request.session.get(STORE, {})
    kept = dict(list(known.items())[-MOST_OPEN + 1 :])
    request.session[STORE] = kept | {token: [slug, task, row, time.time()]}
    return token


def recall(request: HttpRequest, slug: str, token: str) -> Shown | None:
    """The answer that the page of this name showed; None where it is too old, or another study's."""
    found = request.session.get(STORE, {}).get(token)
    shown = None if found is None else Shown(*found)
    return shown if shown is not None and shown.slug == slug else None


def verdicts(rubric: Rubric, chosen: str) -> list[Choice]:
    """A level's key is its number of points where that is one digit for all of them, else its place."""
    levels = rubric.levels
    by_points = all(level.points in range(10) for level in levels)
    found: list[Choice] = [
        {
            "value": str(level.points),
            "label": level.label,
            "description": level.description,
            "points": level.points,
            "key": str(int(level.points)) if by_points else str(n),
        }
        for n, level in enumerate(levels, start=1)
    ]
    if rubric.abstention is not None:
        found.append({"value": ABSTAINED, "points": None, "key": ABSTAINED_KEY})
    return [choice | {"is_chosen": choice["value"] == chosen} for choice in found]


def deductions(rubric: Rubric, chosen: Sequence[str]) -> list[Choice]:
    return [
        {"value": d.name, "label": d.name, "key": key, "is_chosen": d.name in chosen, **asdict(d)}
        for key, d in zip(LETTERS, rubric.deductions, strict=False)
    ]


class GradeForm(forms.Form):
    """A person's grade; `given` once it is valid. `token` stands for the answer that was shown."""

    token = forms.CharField(max_length=40, widget=forms.HiddenInput)
    verdict = forms.ChoiceField(label="Grade", widget=forms.RadioSelect)
    deductions = forms.MultipleChoiceField(
        label="Deductions", required=False, widget=forms.CheckboxSelectMultiple
    )
    note = UnixTextField(
        label="Note",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Optional; for people who analyse the grades.",
    )

    def __init__(self, rubric: Rubric, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        levels = [(str(level.points), level.label) for level in rubric.levels]
        if rubric.abstention is not None:
            levels.append((ABSTAINED, ABSTAINED))
        offer(self, "verdict", levels)
        offer(self, "deductions", [(one.name, one.name) for one in rubric.deductions])

    def given(self, seconds: float | None) -> Given:
        verdict = self.cleaned_data["verdict"]
        level = None if verdict == ABSTAINED else float(verdict)
        return Given(level, self.cleaned_data["deductions"], self.cleaned_data["note"], seconds)


MOST_DIGITS = 19  # of a row's number
ADDRESSES: dict[Task, str] = {"new": "lab:grade", "last": "lab:grade", "settle": "lab:adjudicate"}


@require_http_methods(["GET", "HEAD", "POST"])
@for_study(Right.CURATE)
def grade(request: HttpRequest, study: Study) -> HttpResponse:
    """The next answer; nothing on the page says whose it is."""
    if request.method == "POST":
        return _keep(request, study, ("new", "last"))
    return _page(request, study, "new", people.next_for(user_of(request), study))


@require_safe
@for_study(Right.CURATE)
def last(request: HttpRequest, study: Study) -> HttpResponse:
    """One's own last grade, to be changed."""
    found = people.last_of(user_of(request), study)
    if found is None:
        messages.info(request, "You have no grade that can be changed.")
        return redirect("lab:grade", study.slug)
    target = people.target_of(plan_of(study), row_of(found))
    return _page(request, study, "last", target, own=found)


@require_POST
@for_study(Right.CURATE)
def undo(request: HttpRequest, study: Study) -> HttpResponse:
    """The form says which grade: sent twice, it takes back no other."""
    number = request.POST.get("grade", "")
    if not (number.isascii() and number.isdigit() and len(number) < MOST_DIGITS):
        messages.error(request, "That page was out of date. No grade was withdrawn.")
        return redirect("lab:grade", study.slug)
    with refused(request, GradeRefusedError):
        people.take_back(user_of(request), study, int(number))
        messages.success(request, "Your last grade has been withdrawn.")
    return redirect("lab:grade", study.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@for_study(Right.CURATE)
def adjudicate(request: HttpRequest, study: Study) -> HttpResponse:
    if request.method == "POST":
        return _keep(request, study, ("settle",))
    found = people.next_dispute(user_of(request), study)
    if found is None:
        return _page(request, study, "settle", None)
    return _page(request, study, "settle", found.target, grades=found.grades)


@require_safe
@for_study(Right.EXPORT)
def grades_csv(request: HttpRequest, study: Study) -> StreamingHttpResponse:
    return sent_as_csv(f"{study.slug}-grades", PEOPLE, data_set.of_people(study))


def _keep(request: HttpRequest, study: Study, tasks: tuple[Task, ...]) -> HttpResponse:
    """Store what was chosen for the answer that the page showed, and go on to the next."""
    form = GradeForm(rubric_of(plan_of(study)), request.POST)
    page = recall(request, study.slug, str(request.POST.get("token", "")))
    if page is None or page.task not in tasks:
        messages.error(
            request, "That page was out of date, and nothing was saved. This is the next answer."
        )
        return redirect(ADDRESSES[tasks[0]], study.slug)
    if not form.is_valid():
        target = people.target_of(plan_of(study), page.row)
        grades = people.differing_grades(page.row) if page.task == "settle" else ()
        return _page(request, study, page.task, target, form=form, grades=grades)
    act = {"new": people.give, "last": people.change_last, "settle": people.settle}
    with refused(request, GradeRefusedError):
        act[page.task](user_of(request), study, page.row, form.given(page.seconds))
    return redirect(ADDRESSES[page.task], study.slug)


def _page(
    request: HttpRequest,
    study: Study,
    task: Task,
    target: Target | None,
    *,
    own: PersonGrade | None = None,
    grades: tuple[PersonGrade, ...] = (),
    form: GradeForm | None = None,
) -> HttpResponse:
    rubric, user = rubric_of(plan_of(study)), user_of(request)
    initial: dict[str, Any] = {}
    if own is not None:
        verdict = ABSTAINED if own.abstained else str(own.level)
        initial = {"verdict": verdict, "deductions": own.deductions, "note": own.note}
    if target is not None:
        initial["token"] = remember(request, study.slug, task, target.row)
    chosen = str((form.data if form else initial).get("verdict", ""))
    form_shown = form or GradeForm(rubric, initial=initial)
    return show(
        request,
        "scoring/grading/grade.html",
        part="grading",
        is_new=task == "new",
        is_settling=task == "settle",
        target=target,
        form=form_shown,
        token=initial.get("token", ""),
        verdicts=verdicts(rubric, chosen),
        deductions=deductions(rubric, form_shown["deductions"].value() or []),
        grades=grades,
        rubric=rubric,
        progress=people.progress(study, user),
        n_disputes=people.n_open(study),
        n_mine=people.n_open(study, user),
        has_next=task != "new" and people.next_for(user, study) is not None,
        last=people.last_of(user, study),
        action=reverse(ADDRESSES[task], args=[study.slug]),
    )
