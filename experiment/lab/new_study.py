"""A new study: from a preset, of questions alone, as a copy of one that may be set up, or from a file."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from experiment.domain.presets import ADDITIONS, PRESETS, comparison
from experiment.domain.roles import Right
from experiment.lab.access import for_creators
from experiment.models import ResearchField, Study
from experiment.services.item_choice import ItemChoice, create_chosen_study
from experiment.services.questions import (
    create_questions_study,
    fields_with_questions,
    questions_title,
)
from experiment.services.rights import studies_with
from experiment.services.study_file import MAX_BYTES, copy_study, create_from_file
from experiment.services.study_setup import unused_slug, unused_title
from lib.http import either
from lib.name_fields import is_name
from lib.pages import offer, show


class StudyField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Study) -> str:
        return f"{obj.title} ({obj.slug})"


class NewStudyForm(forms.Form):
    """The start of a study, and its name. Of what is left empty, the start has a title or a file a name."""

    start = forms.ChoiceField(
        label="Start from",
        choices=[
            ("brainbench", "BrainBench, our settings"),
            ("brainbench-strict", "BrainBench, exactly as in the paper"),
            (
                "brainbench-advised",
                "BrainBench, our settings, in two arms: without and with advice",
            ),
            ("questions", "Only questions, answered in participants' own words"),
            ("copy", "A copy of a study"),
            ("file", "A file of a study"),
        ],
        widget=forms.RadioSelect,
        initial="brainbench",
    )
    questions_of = forms.ChoiceField(
        required=False,
        label="Questions of",
        help_text=(
            "The study starts with all accepted questions, ten per participant; you can change this in the set-up. There "
            "are no abstracts, catch trials or practice."
        ),
    )
    source = StudyField(
        Study.objects.none(),
        required=False,
        label="Study to copy",
        empty_label="Please choose",
        help_text="Copies settings, texts and test cases, but not participants, members or a recruitment platform's links and codes.",
        to_field_name="slug",
    )
    file = forms.FileField(
        required=False,
        label="File",
        help_text="A JSON file from the “Set up” page of a study, at most 16 MB.",
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )
    title = forms.CharField(
        max_length=200,
        required=False,
        validators=[is_name],
        label="Title",
        help_text="Participants see this title. If empty, it is taken from what the study starts from.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    slug = forms.SlugField(
        max_length=60,
        required=False,
        label="Short name",
        help_text="Used in addresses and exports; it cannot change later. If empty, it is derived from the title.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = self.fields["source"]
        assert isinstance(source, forms.ModelChoiceField)
        source.queryset = studies_with(user, Right.SET_UP).order_by("title")
        offered = [(field.slug, f"{field.name} ({n})") for field, n in fields_with_questions(user)]
        offer(self, "questions_of", [("", "Please choose"), *offered])

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and Study.objects.filter(slug=slug).exists():
            raise ValidationError("Another study has this short name.")
        return slug

    def clean_title(self) -> str:
        title: str = self.cleaned_data["title"]
        if title and Study.objects.filter(title=title).exists():
            raise ValidationError("Another study of this site has this title.")
        return title

    def clean(self) -> None:
        super().clean()
        values = self.cleaned_data
        start = values.get("start")
        if start == "copy" and not values.get("source"):
            self.add_error("source", "Please choose the study to copy.")
        if start == "questions" and not values.get("questions_of"):
            self.add_error("questions_of", "Please choose the field whose questions are asked.")
        if start == "file" and "file" not in self.errors:
            if not values.get("file"):
                self.add_error("file", "Please choose a file.")
            elif values["file"].size > MAX_BYTES:
                self.add_error("file", "The file is larger than 16 MB.")

    def create(self, user: Any) -> Study:
        values = self.cleaned_data
        start, slug, title = values["start"], values["slug"], values["title"]
        if start == "file":
            return create_from_file(values["file"].read(), slug=slug, title=title, by=user)
        if start == "questions":
            research_field = ResearchField.objects.get(slug=values["questions_of"])
            slug = slug or unused_slug(title or questions_title(research_field))
            return create_questions_study(slug, research_field, title=title, by=user)
        known = values["source"].title if start == "copy" else PRESETS[start].title
        slug = slug or unused_slug(title or known)
        title = title or unused_title(known, slug)
        if start == "copy":
            return copy_study(values["source"], slug=slug, title=title, by=user)
        published = ItemChoice(collection=PRESETS[start].collection)
        return create_chosen_study(slug, start, published, title=title, by=user)


@either
@for_creators
def new(request: HttpRequest) -> HttpResponse:
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = NewStudyForm(*sent, user=request.user)
    if form.is_valid():
        try:
            study = form.create(request.user)
        except ValidationError as error:
            in_file = form.cleaned_data["start"] == "file"
            form.add_error("file" if in_file else None, ValidationError(error.messages))
        except IntegrityError:  # somebody else was faster
            form.add_error(None, "Another study has this title or short name.")
        else:
            said = f"“{study.title}” was created as a draft. The list below shows what is missing."
            messages.success(request, said)
            return redirect("lab:setup", slug=study.slug)
    return show(
        request,
        "lab/setup/new.html",
        form=form,
        comparison=list(comparison()),
        additions=ADDITIONS,
        section="studies",
    )
