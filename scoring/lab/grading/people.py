"""The page on which people grade, one answer after the other, and the one on which a third settles what two differ in."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Study
from lib.http import UNPROCESSABLE
from scoring.lab.files import sent_as_csv
from scoring.lab.grading import shown
from scoring.lab.grading.forms import ABSTAINED, GradeForm
from scoring.lab.grading.shown import Shown, Task
from scoring.models import PersonGrade
from scoring.services import data_set
from scoring.services.data_set import PEOPLE
from scoring.services.grading import people
from scoring.services.grading.people import GradeRefusedError
from scoring.services.grading.plans import plan_of, rubric_of
from scoring.services.grading.targets import Target, row_of

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
        messages.info(request, _("There is no grade of yours that can be changed."))
        return redirect("lab:grade", study.slug)
    target = people.target_of(plan_of(study), row_of(found))
    return _page(request, study, "last", target, own=found)


@require_POST
@for_study(Right.CURATE)
def undo(request: HttpRequest, study: Study) -> HttpResponse:
    """The form says which grade: sent twice, it takes back no other."""
    number = request.POST.get("grade", "")
    if not (number.isascii() and number.isdigit() and len(number) < MOST_DIGITS):
        messages.error(request, _("That page was too old: nothing was taken back."))
        return redirect("lab:grade", study.slug)
    try:
        people.take_back(user_of(request), study, int(number))
        messages.success(request, _("Your last grade is taken back."))
    except GradeRefusedError as error:
        messages.error(request, str(error))
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
    page = shown.recall(request, study.slug, str(request.POST.get("token", "")))
    if page is None or page.task not in tasks:
        messages.error(request, _("That page was too old: nothing was kept. Here is the next."))
        return redirect(ADDRESSES[tasks[0]], study.slug)
    if not form.is_valid():
        return _again(request, study, page, form)
    given = form.given(page.seconds)
    act = {"new": people.give, "last": people.change_last, "settle": people.settle}
    try:
        act[page.task](user_of(request), study, page.row, given)
    except GradeRefusedError as error:
        messages.error(request, str(error))
    return redirect(ADDRESSES[page.task], study.slug)


def _again(request: HttpRequest, study: Study, page: Shown, form: GradeForm) -> HttpResponse:
    """The page with what is missing."""
    target = people.target_of(plan_of(study), page.row)
    grades = people.differing_grades(page.row) if page.task == "settle" else ()
    return _page(request, study, page.task, target, form=form, grades=grades, status=UNPROCESSABLE)


def _page(
    request: HttpRequest,
    study: Study,
    task: Task,
    target: Target | None,
    *,
    own: PersonGrade | None = None,
    grades: tuple[PersonGrade, ...] = (),
    form: GradeForm | None = None,
    status: int = 200,
) -> HttpResponse:
    rubric, user = rubric_of(plan_of(study)), user_of(request)
    initial: dict[str, Any] = {}
    if own is not None:
        verdict = ABSTAINED if own.abstained else str(own.level)
        initial = {"verdict": verdict, "deductions": own.deductions, "note": own.note}
    if target is not None:
        initial["token"] = shown.remember(request, study.slug, task, target.row)
    chosen = str((form.data if form else initial).get("verdict", ""))
    form_shown = form or GradeForm(rubric, initial=initial)
    context = {
        "study": study,
        "part": "grading",
        "task": task,
        "target": target,
        "form": form_shown,
        "token": initial.get("token", ""),
        "verdicts": shown.verdicts(rubric, chosen),
        "deductions": shown.deductions(rubric, form_shown["deductions"].value() or []),
        "grades": grades,
        "rubric": rubric,
        "progress": people.progress(study, user),
        "n_disputes": people.n_open(study),
        "n_mine": people.n_open(study, user),
        "has_next": task != "new" and people.next_for(user, study) is not None,
        "last": people.last_of(user, study),
        "action": reverse(ADDRESSES[task], args=[study.slug]),
    }
    return render(request, "scoring/grading/grade.html", context, status=status)
