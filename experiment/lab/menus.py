"""A study's menu: at most six entries, each with its sections. What nobody may open, and what a study does not have, is left out."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.urls import reverse

from experiment.domain.roles import FieldRight, Right
from experiment.models import ResearchField, Study


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
    label: str
    address: str
    right: Right
    is_there: Callable[[Study], bool] = _always
    alone: str | None = None


MENU: tuple[tuple[str, tuple[Section, ...]], ...] = (
    ("Overview", (Section("people", "Overview", "lab:study", Right.SEE_DATA),)),
    (
        "Set up",
        (
            Section("setup", "Settings", "lab:setup", Right.SET_UP),
            Section("test_cases", "Test cases", "lab:test_cases", Right.SEE_ITEMS),
            Section("recruitment", "Recruitment", "lab:recruiting", Right.SEE_DATA),
            Section("pay", "Pay participants", "lab:pay", Right.SEE_DATA),
            Section("dry_run", "Dry run", "lab:dry_runs", Right.SEE_DATA),
            Section("documents", "Documents", "lab:documents", Right.SEE_DATA),
            Section("members", "Members", "lab:members", Right.MANAGE_PEOPLE),
            Section("privacy", "Privacy", "lab:privacy", Right.SET_UP),
        ),
    ),
    (
        "Models",
        (
            Section(*("models", "Scores", "lab:scoring", Right.SEE_DATA, _has_pairs, "Models")),
            Section("choosing", "Choices", "lab:choosing", Right.SEE_DATA, _has_pairs),
            Section("answering", "Answers", "lab:answering", Right.SEE_DATA, _has_questions),
            Section("grading", "Grades", "lab:grading", Right.SEE_DATA, _has_questions),
            Section("grading", "Grades", "lab:grade", Right.CURATE, _has_questions),
        ),
    ),
    (
        "Results",
        (
            Section(*("results", "Report", "lab:results", Right.SEE_DATA, _always, "Results")),
            Section("teams", "Teams", "lab:results_teams", Right.SEE_DATA, _has_pairs),
            Section("traces", "Traces", "lab:results_trace", Right.SEE_DATA, _has_pairs),
            Section("compare", "Compare", "lab:compare", Right.SEE_DATA, _has_pairs),
        ),
    ),
    ("Export", (Section("export", "Export", "lab:export", Right.EXPORT),)),
    (
        "More",
        (
            Section("work", "Work", "lab:work", Right.WORK),
            Section("trail", "Trail", "lab:trail", Right.SEE_TRAIL),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    is_current: bool

    @property
    def current(self) -> str:
        """The value of `aria-current` where it is current."""
        return "page"


@dataclass(frozen=True, slots=True)
class Entry(Link):
    """An entry of the menu; it leads to the first of its sections."""

    sections: tuple[Link, ...] = ()

    @property
    def current(self) -> str:
        return "true" if self.sections else "page"


@dataclass(frozen=True, slots=True)
class SiteMenu:
    """The menu of every page: the lab's parts, and what is folded under the account."""

    pages: tuple[Link, ...]
    account: tuple[Link, ...]

    @property
    def is_account(self) -> bool:
        """True if the page is one of those under the account."""
        return any(link.is_current for link in self.account)


def site_menu(section: str, *, is_admin: bool) -> SiteMenu:
    """The menu on a page of this section of the site; some pages are for its administrators alone."""

    def link(label: str, address: str, of: str = "") -> Link:
        return Link(label, reverse(address), bool(of) and section == of)

    training = link("Training", "lab:trainings", "training")
    pages = (link("Studies", "lab:studies", "studies"), link("Test cases", "lab:fields", "fields"))
    account = [
        link("Password, codes and tokens", "lab:account", "account"),
        link("Help", "lab:help", "help"),
    ]
    if is_admin:
        account += [
            link("People on this site", "lab:people", "people"),
            link("Background jobs", "lab:site_work", "work"),
            link("Model servers", "lab:servers", "servers"),
            link("Import published data", "lab:imports"),
            link("Audit trail", "lab:site_trail", "trail"),
            link("Administration", "admin:index"),
        ]
    is_shown = is_admin or training.is_current
    return SiteMenu((*pages, training) if is_shown else pages, tuple(account))


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


FIELD_MENU = (
    ("items", "Test cases", "lab:field", FieldRight.CURATE_FIELD),
    ("new", "New test case", "lab:new_item", FieldRight.CURATE_FIELD),
    ("questions", "Questions", "lab:questions", FieldRight.CURATE_FIELD),
    ("drafting", "A model’s help", "lab:drafting", FieldRight.CURATE_FIELD),  # noqa: RUF001
    ("import", "Import", "lab:import_items", FieldRight.CURATE_FIELD),
    ("export", "Export", "lab:export_items", FieldRight.CURATE_FIELD),
    ("people", "People", "lab:field_people", FieldRight.CURATE_FIELD),
    ("settings", "Settings", "lab:field_settings", FieldRight.LEAD_FIELD),
)


def field_menu(
    research_field: ResearchField, rights: Collection[FieldRight], part: str
) -> list[Link]:
    """The entries of a field of research, for users with these rights."""
    return [
        Link(label, reverse(address, args=[research_field.slug]), name == part)
        for name, label, address, right in FIELD_MENU
        if right in rights
    ]


QUESTIONS_MENU = (
    ("list", "All questions", "lab:questions"),
    ("new", "New question", "lab:new_question"),
    ("import", "From a file", "lab:question_import"),
    ("templates", "From templates", "lab:question_templates"),
)


def questions_menu(research_field: ResearchField, part: str) -> list[Link]:
    """The entries of a field's questions."""
    return [
        Link(label, reverse(address, args=[research_field.slug]), name == part)
        for name, label, address in QUESTIONS_MENU
    ]
