"""Instructions to a model that drafts, the problems of an answer, and the choice of the best of several answers."""

from collections.abc import Sequence

from django.template.loader import render_to_string

from experiment.domain.item_checks.findings import Facts, Finding, Level
from experiment.models import ResearchField
from experiment.services.curation.remarks import findings_of_text
from experiment.services.item_choice import read_items
from scoring.domain.drafting import changed_abstract, marked_text, no_text
from scoring.domain.generating import Finish, Message
from scoring.domain.prompts import filled
from scoring.models import DraftAttempt, GeneratedDraft

N_EXAMPLES = 2
NO_PURPOSE = "to know the field's findings, and what they would look like were they otherwise."


def default_instructions() -> str:
    return render_to_string("scoring/drafting/instructions.txt").strip()


def opening(
    instructions: str, research_field: ResearchField, subfield: str, abstract: str
) -> list[Message]:
    """The first turns. Places are {field}, {subfield}, {purpose}, {examples} and {abstract}; without the last, the abstract
    is a turn of its own. Raises ScoringError as `filled` does.
    """
    found = research_field.subfields.filter(name=subfield).first()
    values = {
        "field": research_field.name,
        "subfield": subfield or research_field.name,
        "purpose": (found.purpose if found else "") or NO_PURPOSE,
        "examples": "\n\n".join(examples(subfield)),
        "abstract": abstract,
    }
    told = filled(instructions, **values)
    if "{abstract}" in instructions:
        return [Message("user", told)]
    return [Message("system", told), Message("user", abstract)]


def examples(subfield: str) -> list[str]:
    """Two of the test cases that ship with the project, of this subfield where there are; never a lab's own."""
    people = [i for i in read_items() if i["kind"] == "test" and i["source"] == "human"]
    own = [item for item in people if item["subfield"] == subfield]
    chosen = [*own, *(item for item in people if item not in own)][:N_EXAMPLES]
    return [str(item["markup"]) for item in chosen]


def repair(findings: Sequence[Finding]) -> Message:
    """A message on the problems of an answer, for the model to repair."""
    text = render_to_string("scoring/drafting/repair.txt", {"findings": findings})
    return Message("user", text.strip())


# The model has declined; to tell it that its text is wrong makes no sense
FINAL = (Finish.REFUSED, Finish.FILTERED, Finish.TOO_LONG)
# What the abstract itself is, whatever is altered in it
OF_THE_ABSTRACT = (
    *("length", "date", "doi_form", "equal_original", "near_original"),
    *("too_many_characters", "too_many_tokens", "maybe_too_many_tokens"),
)


def judge(draft: GeneratedDraft, text: str, finish: str) -> list[Finding]:
    """Findings of an answer, errors first."""
    if finish in FINAL:
        return []
    if finish == Finish.EMPTY:
        return [no_text("The answer is empty.")]
    if finish == Finish.THINKING:
        return [no_text("The answer was cut off before the thought was at its end: think less.")]
    if finish == Finish.LENGTH:
        return [no_text("The answer was cut off before its end: answer with the text alone.")]
    markup = marked_text(text)
    if not markup:
        return [no_text("The answer holds no abstract with alterations.")]
    changed = changed_abstract(markup, draft.abstract)
    on = draft.publication_date
    facts = Facts(draft.run.field.name, source="machine", doi=draft.doi, publication_date=on)
    found = findings_of_text(markup, facts)
    return [changed, *found] if changed else found


def best(attempts: Sequence[DraftAttempt]) -> DraftAttempt:
    """The one with fewest errors, then fewest warnings, then the latest."""

    def rank(attempt: DraftAttempt) -> tuple[int, int, int]:
        errors = sum(f.level == Level.ERROR for f in attempt.findings)
        return errors, len(attempt.findings) - errors, -attempt.number

    return min(attempts, key=rank)
