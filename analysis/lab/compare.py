"""Two studies, or one study under two versions of its rules, side by side."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.data.filters import SOURCES, ReportOptions
from analysis.data.version import usual_kind
from analysis.lab.filter_form import LABELS
from analysis.services.compute import Asked, Waiting
from analysis.store import StoredResult
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Participant, Study
from experiment.services.rights import studies_with
from experiment.services.study_versions import rule_changes

Kind = Participant.Kind


@dataclass(frozen=True, slots=True)
class Side:
    """One side: a study, whose people, and under which version of its rules; None the newest."""

    study: Study
    kind: str
    rules: int | None = None

    @property
    def title(self) -> str:
        if self.rules is None:
            return self.study.title
        return f"Rules, version {self.rules}"


class CompareForm(forms.Form):
    other = forms.ChoiceField(label="With the study", required=False)
    before = forms.TypedChoiceField(
        label="Or version of the rules", required=False, coerce=int, empty_value=None
    )
    after = forms.TypedChoiceField(
        label="compared with version", required=False, coerce=int, empty_value=None
    )
    source = forms.ChoiceField(
        label="Test cases",
        choices=[(source, LABELS["source"][source]) for source in SOURCES],
        required=False,
    )

    def __init__(self, study: Study, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = studies_with(user, Right.SEE_DATA).exclude(pk=study.pk).order_by("slug")
        slugs = [(slug, title) for slug, title in others.values_list("slug", "title")]
        self.fields["other"].choices = [("", "none"), *slugs]  # type: ignore[attr-defined]
        numbers = study.versions.order_by("number").values_list("number", flat=True)
        self.has_versions = len(numbers) > 1 and usual_kind(study) != Kind.IMPORTED
        for name in ("before", "after"):
            if self.has_versions:
                self.fields[name].choices = [("", "none"), *((n, n) for n in numbers)]  # type: ignore[attr-defined]
            else:
                del self.fields[name]
        self.is_alone = not (slugs or self.has_versions)

    @property
    def problems(self) -> list[str]:
        """Problems of the form, one sentence each."""
        of_fields = [f"{field.label}: {error}" for field in self for error in field.errors]
        return [*self.non_field_errors(), *of_fields]

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        versions = [found.get("before"), found.get("after")]
        if found.get("other") and any(versions):
            raise forms.ValidationError("Choose either another study or two versions of the rules.")
        if any(versions) and (not all(versions) or versions[0] == versions[1]):
            raise forms.ValidationError("Choose two different versions of the rules.")
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one side is; `waiting` is None where it is there."""

    side: Side
    waiting: Waiting | None

    @property
    def problem(self) -> str:
        return self.waiting.problem if self.waiting else ""

    @property
    def measured(self) -> Waiting | None:
        """Where it is known of how many steps it consists."""
        is_measured = self.waiting and self.waiting.total and not self.problem
        return self.waiting if is_measured else None

    @property
    def state(self) -> str:
        if self.waiting is None:
            return "ready"
        if self.problem:
            return self.problem
        if self.measured:
            return f"{self.measured.done} of {self.measured.total} results"
        return "waiting for its turn" if self.waiting.is_asked else "about to begin"


@require_safe
@for_study(Right.SEE_DATA)
def compare(request: HttpRequest, study: Study) -> HttpResponse:
    form = CompareForm(study, request.user, request.GET)  # type: ignore[arg-type]
    is_valid = form.is_valid()
    context: dict[str, Any] = {"study": study, "form": form}
    sides = _sides(study, form.cleaned_data) if is_valid else None
    if sides:
        source = form.cleaned_data["source"] or "human"
        states = _states(sides, source, may_compute="now" in request.GET)
        context["query"] = request.GET.urlencode()
        if any(isinstance(state, Waiting) for state in states):
            context |= _progress(sides, states)
        else:
            # Here, since pages without results do without what computes
            from analysis.lab import compare_words
            from analysis.report.report import StoredReport
            from analysis.report.services import compare as comparing

            is_one_study = sides[0].study == sides[1].study
            first, second = (
                comparing.side(side.title, StoredReport(state, source), source)  # type: ignore[arg-type]
                for side, state in zip(sides, states, strict=True)
            )
            both_imported = {side.kind for side in sides} == {Kind.IMPORTED.value}
            found = comparing.compare(first, second, same_people=is_one_study or both_imported)
            numbers = [side.rules for side in sides if side.rules is not None]
            versions = [study.versions.get(number=n) for n in numbers]
            context |= {
                "found": found,
                "said": compare_words.Words(found, is_one_study),
                "is_one_study": is_one_study,
                "rules": rule_changes(*versions) if is_one_study else [],
            }
    return render(request, "analysis/compare.html", context, status=200 if is_valid else 400)


@require_safe
@for_study(Right.SEE_DATA)
def compare_live(request: HttpRequest, study: Study) -> HttpResponse:
    """A page without results asks here until both sides are computed, and is then led to them."""
    form = CompareForm(study, request.user, request.GET)  # type: ignore[arg-type]
    sides = _sides(study, form.cleaned_data) if form.is_valid() else None
    query = request.GET.urlencode()
    if sides:
        source = form.cleaned_data["source"] or "human"
        states = _states(sides, source, may_compute=True)
        if any(isinstance(state, Waiting) for state in states):
            context = _progress(sides, states) | {"study": study, "query": query}
            return render(request, "analysis/_compare_waiting.html", context)
    return redirect(f"{reverse('lab:compare', args=[study.slug])}?{query}")


def _sides(study: Study, found: dict[str, Any]) -> tuple[Side, Side] | None:
    if found["other"]:
        other = Study.objects.get(slug=found["other"])
        return Side(study, usual_kind(study)), Side(other, usual_kind(other))
    if found.get("before"):
        kind = usual_kind(study)
        return Side(study, kind, found["before"]), Side(study, kind, found["after"])
    return None


def _states(
    sides: tuple[Side, Side], source: str, *, may_compute: bool
) -> list[StoredResult | Waiting]:
    found = []
    for side in sides:
        asked = Asked(side.study, ReportOptions(source=source, rules=side.rules), side.kind)
        found.append(asked.ensure_computed() if may_compute else asked.state())
    return found


def _progress(sides: tuple[Side, Side], states: list[StoredResult | Waiting]) -> dict[str, Any]:
    """`is_over` where nothing goes on by itself."""
    found = [
        Progress(side, state if isinstance(state, Waiting) else None)
        for side, state in zip(sides, states, strict=True)
    ]
    is_over = all(side.waiting is None or side.problem for side in found)
    title = (
        "The results could not be computed" if is_over else "Computing the results of both sides"
    )
    return {"progress": found, "is_over": is_over, "title": title}
