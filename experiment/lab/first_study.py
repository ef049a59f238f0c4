"""A study of one's own in one step: its abstracts are pasted, and it is there to be tried.

Where something was read otherwise than it was pasted, or the checks report something, the page shows it before anything is stored.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from experiment.domain.roles import FieldRight
from experiment.imports.read.items import ItemsFile
from experiment.imports.read.pasted import read_pasted
from experiment.imports.read.rows import FileRefusedError
from experiment.imports.reading import items_of
from experiment.imports.store.item_plans import ItemOptions, ItemPlan, ItemRow
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.lab.access import for_creators, user_of
from experiment.lab.item_files import shown_row
from experiment.models import ResearchField, Study
from experiment.services.fields import create_field
from experiment.services.item_choice import (
    OTHER_TITLE,
    ItemChoice,
    ListedKey,
    create_chosen_study,
)
from experiment.services.rights import field_rights_of
from experiment.services.study_setup import unused_slug, unused_title
from experiment.services.usable import usable_fields
from lib.formatting import count, verb
from lib.http import either
from lib.name_fields import is_name
from lib.pages import UnixTextField, refused, show

PRESET = "brainbench"
MOST_TRIALS = 20  # of one participant, to begin with
MOST_NAMED = 10  # problems
MOST_SHOWN = 50  # test cases
MOST_CHARACTERS = 500_000
OTHERS = "Somebody else leads this field. Ask them, or choose another name."
# For whatever reason: the names of other labs' fields are told to nobody
NOT_FREE = "You cannot add test cases under this name. Choose another name."
EXAMPLE = (
    "Adults who were kept awake for one night recalled [[fewer, more]] of forty words the next day."
)


class ToBeSeenError(Exception):
    """Nothing is stored: there is something to see of `plan` first."""

    def __init__(self, plan: ItemPlan) -> None:
        self.plan = plan
        super().__init__()


class PasteForm(forms.Form):
    """shown: the hash of the text whose test cases a person has seen as they were read."""

    shown = forms.CharField(required=False, widget=forms.HiddenInput)
    field = forms.CharField(
        label="Field of research",
        max_length=80,
        validators=[is_name],
        help_text="For example marine biology. The field is created if it does not exist.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    title = forms.CharField(
        label="Title",
        max_length=200,
        required=False,
        validators=[is_name],
        help_text="Participants see this title, and you can change it. If empty, “Which result is real?”",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    texts = UnixTextField(
        label="Abstracts",
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 14, "placeholder": EXAMPLE}),
    )

    def clean_title(self) -> str:
        title: str = self.cleaned_data["title"]
        if title and Study.objects.filter(title=title).exists():
            raise ValidationError("Another study of this site has this title.")
        return title

    def clean_texts(self) -> ItemsFile:
        """As the import reads them."""
        try:
            pasted = read_pasted(self.cleaned_data["texts"])
        except FileRefusedError as refused:
            raise ValidationError(str(refused)) from refused
        file = items_of(pasted.data, unit="abstract")
        records = [
            replace(one, read_as=(*pasted.said.get(one.row, ()), *one.read_as))
            for one in file.records
        ]
        return replace(file, records=records)

    @property
    def print(self) -> str:
        """A sentence on what was pasted."""
        return hashlib.sha256(self["texts"].data.encode()).hexdigest()

    @transaction.atomic
    def create(self, user: User) -> Study:
        """The field if there is none, the test cases, and the study that draws from them; all or nothing.

        Raises:
            ValidationError: the field is not the user's to add accepted test cases to.
            PlanRefusedError: something is wrong with the texts.
            ToBeSeenError: something is to be said of them first.
        """
        values = self.cleaned_data
        research_field = ResearchField.objects.filter(name__iexact=values["field"]).first()
        if research_field is None:
            needed = ResearchField._meta.get_field("reviews_needed").get_default()
            try:
                research_field = create_field(values["field"], needed, user)
            except ValidationError as error:
                raise ValidationError({"field": NOT_FREE}) from error
        elif FieldRight.LEAD_FIELD not in field_rights_of(user, research_field):
            is_known = usable_fields(user).filter(pk=research_field.pk).exists()
            raise ValidationError({"field": OTHERS if is_known else NOT_FREE})
        why = f"Pasted by {user.get_username()} with a new study, without a review."
        options = ItemOptions(accepted_before=why)
        plan = import_file(values["texts"], research_field, options, by=user)
        if self.print != values["shown"] and any(map(has_to_be_seen, plan.rows)):
            raise ToBeSeenError(plan)
        slug = unused_slug(values["title"] or OTHER_TITLE)
        return create_chosen_study(
            slug,
            PRESET,
            ItemChoice(keys=tuple(ListedKey(key, "") for key in plan.keys)),
            contact=user.email,
            by=user,
            title=values["title"] or unused_title(OTHER_TITLE, slug),
            human_items=min(len(plan.keys), MOST_TRIALS),
            machine_items=0,
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """The pasted abstracts before anything is stored: those about which something is to be said."""

    heading: str
    as_pasted: str  # what is said of the others
    rows: list[dict[str, Any]]
    n_more: int

    @classmethod
    def of(cls, plan: ItemPlan) -> "Seen":
        rows = [row for row in plan.rows if has_to_be_seen(row)]
        n, n_others = len(plan.rows), len(plan.rows) - len(rows)
        read = verb(n_others, "is read as it was pasted", "are read as they were pasted")
        as_pasted = f"{count(n_others, 'other')} {read}, and the checks report nothing about {verb(n_others, 'it', 'them')}."
        return cls(
            heading=f"{count(n, 'abstract')}, as {verb(n, 'it was', 'they were')} read",
            as_pasted=as_pasted if n_others else "",
            rows=[shown_row(row) for row in rows[:MOST_SHOWN]],
            n_more=max(0, len(rows) - MOST_SHOWN),
        )


@either
@for_creators
def first_study(request: HttpRequest) -> HttpResponse:
    form = PasteForm(request.POST) if request.method == "POST" else PasteForm()
    if form.is_valid():
        try:
            with refused(form):
                study = form.create(user_of(request))
                judged = (
                    f"Each participant judges {count(study.n_abstracts, 'abstract')}: {study.human_items} of yours, and "
                    f"{study.catch_items} built-in ones as attention checks."
                )
                beside = "Next to the settings, you see what participants see."
                messages.success(
                    request, f"“{study.title}” was created as a draft. {judged} {beside}"
                )
                page = reverse("lab:setup_trials", args=[study.slug])
                return redirect(f"{page}?preview=trial")
        except PlanRefusedError as refusal:
            form.add_error("texts", _named(refusal))
        except ToBeSeenError as seen:
            return _page(request, form, Seen.of(seen.plan))
    return _page(request, form)


def has_to_be_seen(row: ItemRow) -> bool:
    return bool(row.record.read_as or row.findings or row.note)


def _page(request: HttpRequest, form: PasteForm, seen: Seen | None = None) -> HttpResponse:
    return show(request, "lab/first_study.html", form=form, section="studies", seen=seen)


def _named(refusal: PlanRefusedError) -> list[str]:
    problems = refusal.plan.problems
    named = []
    for problem in problems[:MOST_NAMED]:
        # A paste has neither rows nor columns
        version = ", altered version" if problem.column == "altered" else ""
        place = "" if problem.row is None else f"Abstract {problem.row}{version}: "
        named.append(f"{place}{problem.message}." if place else problem.message)
    if more := len(problems) - len(named):
        named.append(f"… and {more} more")
    return named
