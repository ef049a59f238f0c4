"""Fields of research: what each holds, who belongs to it, and what its leads decide."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight, FieldRole
from experiment.lab.access import for_creators, for_field, for_signed_in, is_lead, user_of
from experiment.lab.members import MemberLine, as_seen, give_role
from experiment.models import FieldMember, Item, ResearchField, Subfield
from experiment.services import audit, members
from experiment.services import fields as services
from experiment.services.curation.reviews import n_waiting_for
from experiment.services.fields import has_items, is_used
from experiment.services.members import asked_to_join
from experiment.services.rights import AGREED, fields_of, may_create_studies
from experiment.services.usable import usable_fields
from lib.formatting import count, verb
from lib.http import UNPROCESSABLE, either
from lib.opened import Edit, OpenedForm, check_seen, held
from lib.pages import refused, say_saved, show


def _keep_name(form: forms.BaseForm, why: str) -> None:
    form.fields["name"].disabled = True
    form.fields["name"].help_text = why


class FieldForm(OpenedForm, forms.ModelForm[ResearchField]):
    """A name that test cases have is shown and stays."""

    class Meta:
        model = ResearchField
        fields = ("name", "reviews_needed")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if self.instance.pk and has_items(self.instance):
            _keep_name(self, "This name cannot change because test cases and exports use it.")

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        return audit.last_changes(names, field=self.initial["name"])


class NewFieldForm(FieldForm):
    """Says what review means before it asks for people."""

    reviews_needed = forms.TypedChoiceField(
        label="Who else must accept a test case before studies can use it?",
        choices=[
            (1, "one other person"),
            (2, "two other people"),
            (0, "nobody yet: writers accept their own, and the paper says “not reviewed”"),
        ],
        coerce=int,
        initial=1,
        widget=forms.RadioSelect,
        help_text=(
            "Reviewers read both wordings without knowing how people or models did, and accept the test case, ask for a revision or "
            "reject it. You can change this under Settings."
        ),
    )


class SubfieldForm(OpenedForm, forms.ModelForm[Subfield]):
    class Meta:
        model = Subfield
        fields = ("name", "purpose")
        widgets = {"purpose": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if self.instance.pk and is_used(self.instance):
            _keep_name(self, "This name cannot change because test cases use it.")

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        return audit.last_changes(
            names, field=self.instance.field.name, subfield=self.initial["name"]
        )


class MemberForm(forms.Form):
    username = forms.CharField(
        label="User name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.TypedChoiceField(
        label="Role",
        choices=FieldMember.Role.choices,
        coerce=FieldRole,
        initial=FieldMember.Role.CURATOR,
        widget=forms.RadioSelect,
    )


class SharedStudyForm(forms.Form):
    study = forms.SlugField(
        label="Short name of the study",
        max_length=60,
        help_text=(
            "As in the address of the study. Its researchers may then use this field there."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


@require_safe
@for_signed_in
def fields(request: HttpRequest) -> HttpResponse:
    """Those whose test cases one may write or only use, and what each holds."""
    is_question = Q(kind=Item.Kind.QUESTION)
    own = fields_of(user_of(request))
    usable = usable_fields(user_of(request)).exclude(pk__in=own.values("pk"))
    rows, others = (
        found.annotate(n_accepted=_n_accepted(~is_question), n_questions=_n_accepted(is_question))
        for found in (own, usable)
    )
    waiting = Counter[str]()
    for (name, _are_questions), n in n_waiting_for(user_of(request)).items():
        waiting[name] += n
    return show(
        request,
        "lab/fields/fields.html",
        fields=[(row, waiting[row.name]) for row in rows],
        asked=asked_to_join(user_of(request)),
        usable=others.annotate(is_mine=Exists(_own(user_of(request), OuterRef("pk")))),
        may_create=may_create_studies(request.user),
        section="fields",
    )


def _n_accepted(wanted: Q) -> Coalesce:
    items = Item.objects.filter(wanted, field=OuterRef("name"), status=Item.Status.ACCEPTED)
    counted = items.order_by().values("field").annotate(n=Count("key", distinct=True)).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@either
@for_creators
def new(request: HttpRequest) -> HttpResponse:
    form = NewFieldForm(request.POST or None)
    if form.is_valid():
        sent = form.cleaned_data
        with refused(form):
            made = services.create_field(sent["name"], sent["reviews_needed"], user_of(request))
            return redirect("lab:field_settings", made.slug)
    status = UNPROCESSABLE if request.method == "POST" else 200
    return show(request, "lab/fields/new.html", status, form=form, section="fields")


@either
@for_field(FieldRight.LEAD_FIELD)
def settings(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    with held(research_field, when=request.method == "POST") as stored:
        form = FieldForm(request.POST or None, instance=stored)
        if form.is_valid():
            sent = form.cleaned_data
            with refused(form):
                accepted = services.change_field(
                    research_field, sent["name"], sent["reviews_needed"], user_of(request)
                )
                say_saved(request, form)
                if n := len(accepted):
                    enough = verb(n, "has enough reviews and is", "have enough reviews and are")
                    messages.success(request, f"{count(n, 'test case')} now {enough} accepted.")
                return redirect("lab:field_settings", research_field.slug)
    return _settings(request, research_field, form, SubfieldForm(prefix="new"))


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def add_subfield(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = SubfieldForm(request.POST, prefix="new")
    if form.is_valid():
        sent = form.cleaned_data
        with refused(form):
            services.add_subfield(research_field, sent["name"], sent["purpose"], user_of(request))
            return redirect("lab:field_settings", research_field.slug)
    return _settings(request, research_field, FieldForm(instance=research_field), form)


@either
@for_field(FieldRight.LEAD_FIELD)
def subfield(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """Change one, or remove it."""
    with held(research_field, when=request.method == "POST"):
        row = get_object_or_404(research_field.subfields, pk=pk)
        form = SubfieldForm(request.POST or None, instance=Subfield.objects.get(pk=pk))
        if form.is_valid():
            sent = form.cleaned_data
            with refused(form):
                services.change_subfield(row, sent["name"], sent["purpose"], user_of(request))
                say_saved(request, form)
                return redirect("lab:field_settings", research_field.slug)
    return show(request, "lab/fields/subfield.html", subfield=row, is_used=is_used(row), form=form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def remove_subfield(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    with refused(request), held(research_field):
        row = get_object_or_404(research_field.subfields, pk=pk)
        edits = partial(audit.last_changes, field=research_field.name, subfield=row.name)
        check_seen(request.POST, row, edits=edits)
        services.remove_subfield(row, user_of(request))
    return redirect("lab:field_settings", research_field.slug)


def _settings(
    request: HttpRequest, research_field: ResearchField, form: FieldForm, new: SubfieldForm
) -> HttpResponse:
    subfields = research_field.subfields.all()
    return show(
        request, "lab/fields/settings.html", form=form, subfield_form=new, subfields=subfields
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def people(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _people(request, research_field, MemberForm())


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def add_member(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = MemberForm(request.POST)
    if form.is_valid():
        sent = form.cleaned_data
        with refused(form, field="username"):
            members.add_to_field(research_field, sent["username"], sent["role"], user_of(request))
            return redirect("lab:field_people", research_field.slug)
    return _people(request, research_field, form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def change_role(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    give_role(request, _member(research_field, pk), FieldRole)
    return redirect("lab:field_people", research_field.slug)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def remove_member(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    member, user = _member(research_field, pk), user_of(request)
    with refused(request), as_seen(request, member):
        members.remove_member(member, user)
        if member.user_id == user.pk and not user.is_superuser:
            return redirect("lab:fields")  # they have left
    return redirect("lab:field_people", research_field.slug)


@require_POST
@for_field(FieldRight.USE_FIELD)
def leave(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    user = user_of(request)
    with refused(request):
        for member in _own(user, research_field).select_related("user", "field"):
            members.remove_member(member, user)
    return redirect("lab:fields")


def _own(user: User, research_field: ResearchField | OuterRef) -> QuerySet[FieldMember]:
    return FieldMember.objects.filter(AGREED, user=user, field=research_field)


@require_POST
@for_signed_in
def join(request: HttpRequest, field: str) -> HttpResponse:
    """The answer to a field that has asked one to join; any other field is as good as none."""
    asked = get_object_or_404(asked_to_join(user_of(request)), field__slug=field)
    agrees = request.POST.get("answer") == "join"
    members.answer(asked, agrees)
    return redirect("lab:field_people", field) if agrees else redirect("lab:fields")


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def share_with_site(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    is_shared = request.POST.get("is_shared") == "yes"
    services.share_with_site(research_field, is_shared, user_of(request))
    return redirect("lab:field_people", research_field.slug)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def share_with_study(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = SharedStudyForm(request.POST)
    if form.is_valid():
        with refused(form):
            services.share_with_study(research_field, form.cleaned_data["study"], user_of(request))
            return redirect("lab:field_people", research_field.slug)
    return _people(request, research_field, MemberForm(), form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def unshare_with_study(
    request: HttpRequest, research_field: ResearchField, pk: int
) -> HttpResponse:
    study = get_object_or_404(research_field.shared_with, pk=pk)
    services.unshare_with_study(research_field, study, user_of(request))
    return redirect("lab:field_people", research_field.slug)


def _member(research_field: ResearchField, pk: int) -> FieldMember:
    rows = research_field.memberships.select_related("user", "field")
    return get_object_or_404(rows, pk=pk)


def _people(
    request: HttpRequest,
    research_field: ResearchField,
    form: MemberForm,
    study_form: SharedStudyForm | None = None,
) -> HttpResponse:
    rows = research_field.memberships.select_related("user").order_by("user__username")
    return show(
        request,
        "lab/fields/people.html",
        members=[
            MemberLine(
                each,
                reverse("lab:change_field_role", args=[research_field.slug, each.pk]),
                reverse("lab:remove_field_member", args=[research_field.slug, each.pk]),
            )
            for each in rows
        ],
        roles=FieldMember.Role,
        may_manage=is_lead(request),
        share_label=f"{'Stop sharing' if research_field.is_shared else 'Share'} with the whole site",
        form=form,
        study_form=study_form or SharedStudyForm(),
        shared_with=research_field.shared_with.order_by("slug"),
    )
