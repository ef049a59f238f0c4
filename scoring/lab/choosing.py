"""A study's pages of models that take the test by choosing: which do, what they chose, and what they said."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from lib.name_fields import is_name
from lib.pages import LimitedFileField, UnixTextField, refused, show
from scoring.backends.registry import KINDS, known_kind
from scoring.domain.answer_tables import ENDINGS
from scoring.domain.backend import ScoringError
from scoring.domain.choosing.files import LOGS
from scoring.lab import words
from scoring.lab.answering import ENDS
from scoring.lab.forms import AtZeroForm, checked_model_args, model_folders
from scoring.lab.run_pages import RunPages
from scoring.models import ChoiceRun, ModelChoice
from scoring.models.choices import IS_READ, UNPARSED
from scoring.services import data_set
from scoring.services.asking.settings import Asked
from scoring.services.choosing import prompts, runs
from scoring.services.choosing.imports import store_choices
from scoring.services.choosing.likelihood import without_thinking
from scoring.services.choosing.summary import READ, Choices, summarise
from scoring.services.data_set import CHOICES

MOST_BYTES = 10 * 1024 * 1024  # a page reads it
STATES: dict[str, Any] = {READ: "answered", UNPARSED: "not readable"}
STATES |= {finish.value: end for finish, end in ENDS.items()}
PROMPTS = (
    ("default", "as participants are told"),
    (prompts.REASONING, "the same, with reasoning before the answer (only models that write)"),
    ("plain", "without mention of research"),
    (prompts.CUSTOM, "your own text"),
)


class ChoosingForm(AtZeroForm):
    """A model, how it is asked, and in how many test cases."""

    # Those of the requirements; others are for the command
    generator = forms.ChoiceField(
        label="Kind of model",
        choices=[(kind.name, kind.label) for kind in KINDS if not kind.package],
    )
    prompt = forms.ChoiceField(label="Prompt", choices=PROMPTS)
    own_prompt = UnixTextField(
        label="Your own text",
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="{versions} stands for the two versions, and {field} for the field.",
    )
    layout = forms.ChoiceField(label="Shown as", choices=ChoiceRun.Layout.choices)
    samples = forms.IntegerField(
        label="Answers per test case and order",
        required=False,
        min_value=1,
        max_value=runs.MOST_SAMPLES,
        help_text="If empty, 1 at temperature 0, and otherwise 5.",
    )
    n_examples = forms.IntegerField(
        label="Practice items shown with their answers",
        required=False,
        min_value=0,
        max_value=20,
    )
    source = forms.ChoiceField(
        label="Test cases", required=False, choices=[("", "all"), *Item.Source.choices]
    )
    limit = forms.IntegerField(
        label="Only the first N test cases", required=False, min_value=1, max_value=10**6
    )
    name = forms.CharField(
        label="Name in tables",
        required=False,
        max_length=200,
        validators=[is_name],
        help_text="If empty, the name of the model is used.",
    )
    HOW = ("prompt", "own_prompt", "layout", "samples", "n_examples", "source", "limit", "name")

    def _asked(self, cleaned: dict[str, Any]) -> Asked:
        kind = known_kind(self.kind_of_choice(cleaned["generator"]))
        is_scored = kind.scores is not None and cleaned.get("prompt") != prompts.REASONING
        # Where probabilities are read off, nothing is drawn at a temperature
        asked = super()._asked(cleaned | {"temperature": ""} if is_scored else cleaned)
        if is_scored:
            checked_model_args(kind.name, without_thinking(asked.model_args))
        if cleaned.get("own_prompt") and cleaned.get("prompt") != prompts.CUSTOM:
            raise ScoringError(
                "You entered your own text, but chose another prompt. Choose the prompt “your own text”."
            )
        return asked

    def check_asked(self) -> None:
        """It depends on the prompt which arguments a model takes: `runs.choice_run` checks them."""

    @property
    def folded(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        is_open = bool(self.errors)
        return [
            ("Prompt and test cases", self.fields_of(*self.HOW), is_open),
            ("Prices and budget", self.fields_of(*self.COSTS), is_open),
            self.more,
        ]

    def draft(self, study: Study, **about: Any) -> ChoiceRun:
        """The run that a valid form asks for, not stored.

        Raises:
            ScoringError: the model cannot be meant like this, or there is nothing to choose.
        """
        values = {name: self.cleaned_data[name] for name in self.HOW}
        values["n_examples"] = values["n_examples"] or 0
        return runs.choice_run(study, self.asked, **values, **about)


class ChoicesFileForm(forms.Form):
    """Choices that a model made elsewhere."""

    prefix = "import"
    file = LimitedFileField(
        MOST_BYTES,
        "The file is larger than 10 MB: have it imported by the command import_choices.",
        label="File",
        help_text="A spreadsheet (.xlsx, .ods), CSV, Parquet or JSON Lines with columns item, order and side; samples of "
        "lm-evaluation-harness; or a log of Inspect.",
        widget=forms.FileInput(attrs={"accept": ",".join((*ENDINGS, ".jsonl", *LOGS))}),
    )
    sheet = forms.CharField(
        label="Sheet",
        required=False,
        max_length=200,
        help_text="Of a spreadsheet, if several of its sheets have such columns.",
    )
    name = forms.CharField(label="Name in tables", max_length=200, validators=[is_name])
    prompt = UnixTextField(
        label="Prompt",
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The prompt that was used, with {versions} in place of the two versions. Leave this empty for exported tasks, which contain their prompt.",
    )


class ShownForm(forms.Form):
    """The filter of a run's listed choices."""

    SHOWN = (("", "all"), ("wrong", "wrong"), ("unread", "could not be read"))
    which = forms.ChoiceField(label="Answers", required=False, choices=SHOWN)

    def narrowed(self, choices: QuerySet[ModelChoice]) -> QuerySet[ModelChoice]:
        which = self.cleaned_data["which"]
        if which == "unread":
            return choices.exclude(IS_READ)
        if which == "wrong":
            right = Q(side="A", original_side="A") | Q(side="B", original_side="B")
            return choices.exclude(side="").exclude(right)
        return choices


SHOWN = 20  # runs
PER_PAGE = 25  # answers


@require_safe
@for_study(Right.SEE_DATA)
def choosing(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study, ChoosingForm(user=user_of(request)))


@require_safe
@for_study(Right.SEE_DATA)
def choosing_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The part of the page that changes."""
    return show(request, "scoring/choosing/_choosing.html", **_context(study))


@require_POST
@for_study(Right.WORK)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    form = ChoosingForm(request.POST, user=user_of(request))
    if form.is_valid():
        user = user_of(request)
        with refused(form, ScoringError):
            if not form.foretells(runs.forecast, partial(form.draft, study, by=user)):
                return redirect(runs.start(form.draft(study, by=user), user))
    return _page(request, study, form)


@require_POST
@for_study(Right.WORK)
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Store choices that a model made elsewhere."""
    form = ChoicesFileForm(request.POST, request.FILES)
    if form.is_valid():
        file, name = form.cleaned_data["file"], form.cleaned_data["name"]
        about: dict[str, Any] = {
            "instructions": form.cleaned_data["prompt"],
            "sheet": form.cleaned_data["sheet"],
            "by": user_of(request),
        }
        with refused(form, ScoringError, field="file"):
            return redirect(store_choices(study, file.name, file.read(), name, **about)[0])
    return _page(request, study, ChoosingForm(user=user_of(request)), file_form=form)


class ChoosingPages(RunPages[ChoiceRun]):
    name, part = "choice", "choosing"
    service = runs
    units = "answers"
    all_runs = "All models that chose"
    go_on = "Go on"
    told = ("Prompt", "Prompt and settings", "Prompt")
    file = ("choices", "choices", CHOICES)

    def runs_of(self, study: Study, /) -> QuerySet[ChoiceRun]:
        return _runs(study)

    def heading(self, run: ChoiceRun) -> str:
        return f"Choices of {run.language_model}"

    def state(self, run: ChoiceRun) -> dict[str, Any]:
        counted = summarise(run)
        n_elsewhere = run.choices.count() - counted.n_answers
        return {
            "counted": counted,
            "elsewhere": words.not_shown(n_elsewhere, "gave", "more answer", "about"),
            "states": [(STATES[state], n) for state, n in counted.states.items()],
            "unread": runs.unread(run),
            "served": [] if run.is_open else runs.served(run),
            "lost": runs.lost(run),
        }

    def listed(self, request: HttpRequest, run: ChoiceRun) -> dict[str, Any]:
        """A page of the run's choices, narrowed as the address says."""
        form = ShownForm(request.GET)
        choices = run.choices.select_related("item").defer("raw", "messages")
        choices = choices.order_by("item__key", "original_side", "sample")
        choices = form.narrowed(choices) if form.is_valid() else choices.none()
        page = Paginator(choices, PER_PAGE).get_page(request.GET.get("page"))
        return {
            "form": form,
            "shown": page,
            "choices": [(each, "tie" if each.is_read else STATES[each.state]) for each in page],
            "query": f"which={form.data.get('which', '')}",
        }

    def rows(self, run: ChoiceRun) -> Iterator[tuple[Any, ...]]:
        return data_set.of_choices(run.choices.all())


def _runs(study: Study) -> QuerySet[ChoiceRun]:
    found = ChoiceRun.objects.filter(study=study).defer("items")
    return found.select_related("study", "language_model", "created_by")


def _context(study: Study) -> dict[str, Any]:
    found = list(_runs(study).defer("items", "identity")[:SHOWN])
    # A test case that comes has a higher key, and one that goes leaves fewer
    state = tuple(study.study_items.aggregate(n=Count("pk"), last=Max("pk")).values())
    return {
        "part": "choosing",
        "runs": [
            (run, _summary(run.pk, run.status, run.done, run.finished_at, *state)) for run in found
        ],
        "is_open": any(run.is_open for run in found),
    }


@lru_cache(256)
def _summary(pk: int, *state: Any) -> Choices:
    """The choices of a run in this state; a page that is looked at again and again reads no answers anew."""
    return summarise(ChoiceRun.objects.get(pk=pk))


def _page(request: HttpRequest, study: Study, form: ChoosingForm, **more: Any) -> HttpResponse:
    return show(
        request,
        "scoring/choosing/choosing.html",
        form=form,
        file_form=more.pop("file_form", None) or ChoicesFileForm(),
        n_cases=study.items.filter(kind=Item.Kind.TEST).count(),
        folders=model_folders(),
        **_context(study),
        **more,
    )
