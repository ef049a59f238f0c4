"""The section "Advice" of a study's set-up: who advises, what participants see of it, and the frozen advice."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.formats import date_format

from analysis.services.advisers import KINDS, source_label, sources_of
from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup import LABELS, framing, setup_context
from experiment.lab.setup_forms import OfStudy
from experiment.models import Adviser, Study
from experiment.services.advisers import (
    advisable_items,
    adviser_of,
    is_advised,
    set_adviser,
    unadvised,
)
from lib.formatting import count, verb
from lib.http import either
from lib.opened import held
from lib.pages import offer, refused, say_saved, show

PREVIEWS = {
    "advice_after": "After a choice",
    "advice_before": "With the abstract",
}


class AdviserForm(OfStudy, forms.ModelForm[Adviser]):
    """The adviser is chosen as KIND:SOURCE."""

    adviser = forms.ChoiceField(
        label="Adviser",
        help_text="A model needs a finished run on every test case that can be drawn.",
    )

    class Meta:
        model = Adviser
        fields = ("shown_name", "shows", "shows_passages")
        widgets = {"shows": forms.RadioSelect}
        help_texts = {
            "shows": (
                "The confidence is the probability p that the choice is correct. From 1 to 100, it is 100 (2p - 1), so "
                "that 1 is a guess and 100 is certain: the scale on which results compare it with participants' ratings."
            ),
            "shows_passages": "Needs a model whose tokens were stored.",
        }

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        found = sources_of(study)
        # Kinds with the same heading stand together, and each beside its choice what it alone is asked
        groups: dict[str, list[tuple[str, str]]] = {}
        asked = ["adviser"]
        for kind in KINDS.values():
            choices = [(f"{kind.name}:{source}", said) for source, said in kind.choices(found)]
            groups.setdefault(kind.heading, []).extend(choices)
            fields = kind.fields(found)
            self.fields |= fields
            asked += fields
        offer(self, "adviser", groups.items())
        self.order_fields(asked)
        if self.instance.shows != Adviser.Shows.PERCENT:
            given = [(v, label) for v, label in Adviser.Shows.choices if v != Adviser.Shows.PERCENT]
            offer(self, "shows", given)
        if self.instance.pk is not None:
            self.initial.update(KINDS[self.instance.kind].initial(self.instance))

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if chosen := given.get("adviser"):
            kind = KINDS[chosen.partition(":")[0]]
            for name, said in kind.faults(given):
                self.add_error(name, said)
        return given

    def _post_clean(self) -> None:
        """The service says what contradicts what: the row is not whole yet."""

    @property
    def values(self) -> dict[str, Any]:
        kind, _colon, source = self.cleaned_data["adviser"].partition(":")
        shown = {name: self.cleaned_data[name] for name in self._meta.fields or ()}
        return KINDS[kind].values(source, self.cleaned_data) | shown


@either
@for_study(Right.SET_UP)
@framing
def advice(request: HttpRequest, study: Study) -> HttpResponse:
    with held(study, when=request.method == "POST"):
        adviser = adviser_of(study)
        form = AdviserForm(request.POST or None, instance=adviser_of(study), study=study)
        if form.is_valid():
            with refused(form):
                set_adviser(study, form.values, by=user_of(request))
                say_saved(request, form)
                return redirect("lab:setup_advice", slug=study.slug)
    fixed = ""  # why the adviser cannot be chosen now, and which one it is
    if adviser and study.has_begun:
        shows = f"Participants know the adviser as “{adviser.shown_name}” and see: {adviser.get_shows_display()}."
        passages = " They also see the passages that counted most."
        fixed = f"{shows}{passages if adviser.shows_passages else ''}"
    elif study.version:
        fixed = "Real participants have entered without an adviser. Copy the study to start again with one."
    elif study.has_begun:
        fixed = "Close recruitment to choose an adviser."
    asked = request.GET.get("preview", "")
    return show(
        request,
        "lab/setup/advice.html",
        **setup_context(study, "advice"),
        title=LABELS["advice"],
        form=form,
        adviser=adviser,
        fixed=fixed,
        frozen=Frozen.of(study, adviser, at) if adviser and (at := adviser.frozen_at) else None,
        is_advised=is_advised(study),
        previews=PREVIEWS.items() if adviser else (),
        preview=asked if asked in PREVIEWS else "advice_after",
    )


@dataclass(frozen=True, slots=True)
class Frozen:
    """Sentences on frozen advice: when it was frozen, how it was made, and which test cases lack it."""

    when: str
    how: str
    missing: str

    @classmethod
    def of(cls, study: Study, adviser: Adviser, at: datetime) -> "Frozen":
        said = adviser.version
        whose = "Made-up advice" if adviser.is_planted else f"The advice of {source_label(adviser)}"
        when = f"{whose} was frozen on {date_format(at, 'j F Y, H:i')} (UTC)."
        seed = said.get("seed", "")
        how = [said.get("method", ""), f"Seed {seed}."]
        if folds := said.get("folds"):
            how[1] = f"Folds: {folds}, seed {seed}."
        if runs := said.get("runs"):
            how.append(f"{verb(len(runs), 'Run', 'Runs')}: {', '.join(map(str, runs))}.")
        n = unadvised(study, advisable_items(study)).count()
        missing = f"{count(n, 'test case')} {verb(n, 'has', 'have')} no frozen advice."
        return cls(
            when=f"{when} Later data do not change it." if study.version else when,
            how=" ".join(how),
            missing=missing if n else "",
        )
