"""A study of one's own in one step: its abstracts are pasted, and it is there to be tried.

Where something was read otherwise than it was pasted, or the checks report something, the page shows it before anything is stored.
"""

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from experiment.domain.roles import FieldRight
from experiment.imports.store.item_plans import ItemOptions
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.lab.access import for_creators, user_of
from experiment.lab.pasting import PastedForm, Seen, ToBeSeenError, named
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
from lib.formatting import count
from lib.http import either
from lib.name_fields import is_name
from lib.pages import refused, show

PRESET = "brainbench"
MOST_TRIALS = 20  # of one participant, to begin with
OTHERS = "Somebody else leads this field. Ask them, or choose another name."
# For whatever reason: the names of other labs' fields are told to nobody
NOT_FREE = "You cannot add test cases under this name. Choose another name."


class PasteForm(PastedForm):
    """The abstracts of a new study, and its field of research."""

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
    field_order = ("field", "title", "texts")

    def clean_title(self) -> str:
        title: str = self.cleaned_data["title"]
        if title and Study.objects.filter(title=title).exists():
            raise ValidationError("Another study of this site has this title.")
        return title

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
        self.check_shown(plan)
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
                    f"{study.catch_items} built-in ones as catch trials."
                )
                beside = "Next to the settings, you see what participants see."
                messages.success(
                    request, f"“{study.title}” was created as a draft. {judged} {beside}"
                )
                page = reverse("lab:setup_trials", args=[study.slug])
                return redirect(f"{page}?preview=trial")
        except PlanRefusedError as refusal:
            form.add_error("texts", named(refusal))
        except ToBeSeenError as seen:
            return _page(request, form, Seen.of(seen.plan))
    return _page(request, form)


def _page(request: HttpRequest, form: PasteForm, seen: Seen | None = None) -> HttpResponse:
    return show(request, "lab/first_study.html", form=form, section="studies", seen=seen)
