"""A study's menu: at most six entries, each with its sections. What nobody may open, and what a study does not have, is left out."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from experiment.domain.roles import Right
from experiment.models import Study


def _always(study: Study) -> bool:
    return True


def _has_pairs(study: Study) -> bool:
    return study.has_pairs


def _has_questions(study: Study) -> bool:
    return study.has_questions


@dataclass(frozen=True, slots=True)
class Section:
    """`part` is what its pages call themselves; `alone`, its label where it is all that an entry has."""

    part: str
    label: StrPromise
    address: str
    right: Right
    is_there: Callable[[Study], bool] = _always
    alone: StrPromise | None = None


MENU: tuple[tuple[StrPromise, tuple[Section, ...]], ...] = (
    (_("Overview"), (Section("people", _("Overview"), "lab:study", Right.SEE_DATA),)),
    (
        _("Set up"),
        (
            Section("setup", _("Settings"), "lab:setup", Right.SET_UP),
            Section("test_cases", _("Test cases"), "lab:test_cases", Right.SEE_ITEMS),
            Section("recruitment", _("Recruitment"), "lab:recruiting", Right.SEE_DATA),
            Section("dry_run", _("Dry run"), "lab:dry_runs", Right.SEE_DATA),
            Section("documents", _("Documents"), "lab:documents", Right.SEE_DATA),
            Section("members", _("Members"), "lab:members", Right.MANAGE_PEOPLE),
            Section("privacy", _("Privacy"), "lab:privacy", Right.SET_UP),
        ),
    ),
    (
        _("Models"),
        (
            Section(
                *("models", _("Scores"), "lab:scoring", Right.SEE_DATA, _has_pairs, _("Models"))
            ),
            Section("choosing", _("Choices"), "lab:choosing", Right.SEE_DATA, _has_pairs),
            Section("answering", _("Answers"), "lab:answering", Right.SEE_DATA, _has_questions),
            Section("grading", _("Grades"), "lab:grading", Right.SEE_DATA, _has_questions),
            Section("grading", _("Grades"), "lab:grade", Right.CURATE, _has_questions),
        ),
    ),
    (
        _("Results"),
        (
            Section(
                *("results", _("Report"), "lab:results", Right.SEE_DATA, _always, _("Results"))
            ),
            Section("teams", _("Teams"), "lab:results_teams", Right.SEE_DATA, _has_pairs),
            Section("traces", _("Traces"), "lab:results_trace", Right.SEE_DATA, _has_pairs),
            Section("compare", _("Compare"), "lab:compare", Right.SEE_DATA, _has_pairs),
        ),
    ),
    (_("Export"), (Section("export", _("Export"), "lab:export", Right.EXPORT),)),
    (
        _("More"),
        (
            Section("work", _("Work"), "lab:work", Right.WORK),
            Section("trail", _("Trail"), "lab:trail", Right.SEE_TRAIL),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Link:
    label: StrPromise
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Entry(Link):
    """Of the menu; it leads to the first of its sections."""

    sections: tuple[Link, ...] = ()


def study_menu(study: Study, rights: Collection[Right], part: str) -> list[Entry]:
    """The entries for who has these rights, on a page of this part, which is listed even where the study has none of it."""
    entries = []
    for label, sections in MENU:
        # Who may open two pages of a part is led to the first
        shown: dict[str, Section] = {}
        for section in sections:
            if section.right in rights and (section.part == part or section.is_there(study)):
                shown.setdefault(section.part, section)
        links = tuple(
            Link(each.label, reverse(each.address, args=[study.slug]), each.part == part)
            for each in shown.values()
        )
        is_current = part in shown
        if len(links) == 1:
            [only] = shown.values()
            entries.append(Entry(only.alone or only.label, links[0].url, is_current))
        elif links:
            entries.append(Entry(label, links[0].url, is_current, links))
    return entries
