"""Recruitment: who may take part, by which links, and which page they meet at the end."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup_forms import OfStudy
from experiment.lab.watch import links_told
from experiment.models import Channel, Participant, Study
from experiment.models.channels import PLAIN
from experiment.services import audit, counts, readiness, study_setup
from experiment.services.channels import ENDS, SAMPLE_CODE, Link, overdue, save_channel
from experiment.services.channels import links as recruitment_links
from experiment.services.consenting import is_full
from experiment.services.flow import Refusal
from experiment.services.problem_words import Case, worded
from experiment.services.site_address import address_told
from experiment.services.study_language import speaking
from lib import formatting
from lib.opened import check_seen, held
from lib.pages import refused, say_saved, show

WHO = ("label", "code", "platform", "id_parameter", "study_parameter", "session_parameter")
RULES = ("returns", "is_open")
Platform = Channel.Platform
EXAMPLES = {Platform.OTHER: "CloudResearch Connect"}
# What each site asks for; the rest has a default, and stands under "More"
ASKED = {
    Platform.PROLIFIC: ("completion_code", "screen_out_code"),
    Platform.SONA: ("completion_url", "screen_out_url"),
    Platform.MTURK: ("completion_code", "screen_out_code"),
    Platform.OTHER: ("id_parameter", "completion_url", "screen_out_url"),
    Platform.PLAIN: ("label", "completion_url", "completion_code"),
}


class ChannelForm(OfStudy, forms.ModelForm[Channel]):
    class Meta:
        model = Channel
        fields = (*WHO, *ENDS, *RULES)
        widgets = {"platform": forms.HiddenInput}
        help_texts = {
            "id_parameter": "Only for other panels. The parameters of the listed platforms are built in."
        }

    def __init__(self, data: object = None, *, instance: Channel, site: str = "") -> None:
        """`site`: the platform that the page offers, whichever is stored."""
        super().__init__(data, instance=instance)  # type: ignore[arg-type]
        self.study, self.row = instance.study, {"channel": instance.code}
        self.stored_platform = self.initial["platform"]
        self.initial["platform"] = site or self.stored_platform
        if instance.pk is not None:
            # It stands in the links that participants hold and in exports
            self.fields["code"].disabled = True

    def stored(self, name: str) -> Any:
        return self.stored_platform if name == "platform" else super().stored(name)

    @property
    def site(self) -> str:
        """Where the participants of the form come from, as it is filled in."""
        named = str(self["platform"].value())
        return named if named in Platform.values else Platform.PLAIN

    @property
    def asked(self) -> list[forms.BoundField]:
        return [self[name] for name in ASKED[Platform(self.site)]]

    @property
    def more(self) -> list[list[forms.BoundField]]:
        left_out = {"platform", *ASKED[Platform(self.site)]}
        if self.site != Platform.OTHER:
            left_out |= {name for name in WHO if name.endswith("_parameter")}
        groups = ([name for name in names if name not in left_out] for names in (WHO, ENDS, RULES))
        return [[self[name] for name in names] for names in groups if names]

    @property
    def is_wrong_in_more(self) -> bool:
        return any(field.errors for group in self.more for field in group)


END_PAGES = ("completion", "screen-out", "full")


@require_safe
@for_study(Right.SEE_DATA)
def recruiting(request: HttpRequest, study: Study) -> HttpResponse:
    now = timezone.now()
    overdue_told = ""
    if n_overdue := overdue(now.date()).filter(study=study).count():
        overdue_told = (
            f"The recruitment IDs of {formatting.count(n_overdue, 'participant')} are past the date that the consent text named. "
            "A worker erases them within one day after the worker is started."
        )
    return show(
        request,
        "lab/recruitment/page.html",
        links=_shown_links(study),
        address_told=address_told(),
        problems=readiness.readiness_problems(study),
        recruitment_states=Study.Recruitment,
        links_told=links_told(study, now),
        overdue=overdue_told,
        admission=_admission(study, now),
    )


@dataclass(frozen=True, slots=True)
class End:
    """The page that some participants meet at the end; `preview` shows it."""

    who: str
    url: str
    code: str
    preview: str


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link to give out, and what it leads to at the end; `channel_url` is empty of the plain link without a channel."""

    link: Link
    ends: tuple[End, ...]
    channel_url: str


def _shown_links(study: Study) -> list[ShownLink]:
    stored = {channel.code for channel in study.channels.all()}
    shown = []
    for link in recruitment_links(study, settings.BASE_URL + study.get_absolute_url()):
        args, ends = [study.slug, link.code], link.ending
        url = reverse("lab:channel", args=args) if link.code in stored else ""
        rows = (
            ("Participants who finish", ends.completion_url, ends.completion_code, "completion"),
            (
                "Participants who do not agree, or are not admitted",
                ends.screen_out_url,
                ends.screen_out_code,
                "screen-out",
            ),
            (
                "Participants who arrive after the target is reached",
                ends.full_url,
                ends.full_code,
                "full",
            ),
        )
        told = tuple(
            End(who, site, code, reverse("lab:link_preview", args=[*args, page]))
            for who, site, code, page in rows
        )
        shown.append(ShownLink(link, told, url))
    return shown


def _admission(study: Study, now: datetime) -> str:
    """Why no new participants are admitted though recruitment may be open; empty where they are."""
    full, wanted = is_full(study, now), study.target_valid
    if full and wanted is not None and counts.n_valid(study, Participant.Kind.REAL) >= wanted:
        why = f"The target of {formatting.number(wanted, 0)} valid finishers is reached"
        return f"{why}, so no new participants are admitted. Those who have started may finish."
    if study.closes_at is not None and now >= study.closes_at:
        return "Recruitment is over, so no new participants are admitted. Those who have started may finish."
    if study.opens_at is not None and now < study.opens_at:
        return "Recruitment has not started, so no participants are admitted yet."
    if full and study.recruitment == Study.Recruitment.OPEN:
        return (
            "With the participants under way, every arm is expected to reach its share of the target, so no new participants are "
            "admitted at present. More participants may be admitted if some leave, if some reach no new trial within an hour, or "
            "if one arm gets more than one valid finisher ahead of another."
        )
    return ""


@require_POST
@for_study(Right.SET_UP)
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    state = request.POST.get("recruitment", "")
    if state not in Study.Recruitment.values:
        raise Http404
    edits = partial(audit.last_changes, study=study)

    def check(stored: Study) -> None:
        check_seen(request.POST, stored, "recruitment", edits=edits)

    try:
        study = study_setup.set_recruitment(study, state, by=user_of(request), check=check)
    except ValidationError as error:
        why = " ".join(error.messages)
        messages.error(request, f"Recruitment remains in the state “{study.recruitment}”. {why}")
    else:
        label = Study.Recruitment(state).label
        messages.success(request, f"Recruitment is now {label}.")
    return redirect("lab:recruiting", study.slug)


@require_http_methods(["GET", "POST"])
@for_study(Right.SET_UP)
def new_channel(request: HttpRequest, study: Study) -> HttpResponse:
    """The site first, then what it needs."""
    site = request.GET.get("platform", "")
    start: dict[str, str] = {}
    if site in Platform.values:
        # A short name that is free, and the name that goes with it
        names = {Platform.OTHER: ("panel", "Panel"), Platform.PLAIN: (PLAIN, "Plain link")}
        code, label = names.get(Platform(site), (site, Platform(site).label))
        taken = set(study.channels.values_list("code", flat=True))
        n = next(n for n in count(1) if (f"{code}-{n}" if n > 1 else code) not in taken)
        of_code, of_label = (f"-{n}", f" {n}") if n > 1 else ("", "")
        start = {"platform": site, "code": code + of_code, "label": str(label) + of_label}
    return _edit(request, study, lambda stored: Channel(study=stored, **start))


@require_http_methods(["GET", "POST"])
@for_study(Right.SET_UP)
def channel(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    return _edit(request, study, lambda stored: get_object_or_404(stored.channels, code=code))


@require_safe
@for_study(Right.SET_UP)
def link_preview(request: HttpRequest, study: Study, source: str, end: str) -> HttpResponse:
    """A page at the end as this channel's participants see it, with ids made up."""
    known = {link.code: link for link in recruitment_links(study, "")}
    if source not in known or end not in END_PAGES:
        raise Http404
    ends = known[source].ending
    context: dict[str, Any] = {"study": study, "is_preview": True, "ending": ends}
    with speaking(study):
        if end == "completion":
            own = {"own_code": SAMPLE_CODE, "completion_url": ends.completion_url}
            return render(request, "participant/done.html", context | own)
        if end == "screen-out":
            return render(request, "participant/declined.html", context)
        context["problem"] = worded(Refusal.STUDY_FULL, Case(study=study))
        context |= {"action_url": ends.full_url, "action_code": ends.full_code}
        return render(request, "participant/problem.html", context)


def _edit(request: HttpRequest, study: Study, find: Callable[[Study], Channel]) -> HttpResponse:
    channel = find(study)
    is_new = channel.pk is None
    site = request.GET.get("platform", "" if is_new else channel.platform)
    if request.method != "POST" and site not in Platform.values:
        asked = "lab/recruitment/site.html"
        sites = [(each, EXAMPLES.get(each, "")) for each in Platform]
        return show(request, asked, sites=sites, chosen=channel.platform)
    with held(study, when=request.method == "POST") as stored:
        form = ChannelForm(request.POST or None, instance=find(stored), site=site)
        if form.is_valid():
            with refused(form):
                save_channel(form.instance, by=user_of(request))
                say_saved(request, form)
                return redirect("lab:recruiting", study.slug)
    label = form.instance.label
    return show(
        request,
        "lab/recruitment/channel.html",
        form=form,
        title="New channel" if is_new else label,
        heading="New channel" if is_new else f"Channel {label}",
        hosts=settings.RECRUITMENT_HOSTS,
        site=Platform(form.site).label,
    )
