"""What a model is told when it drafts: the instructions with their places filled in, the abstract, and what is to be mended."""

from collections.abc import Sequence

from django.template.loader import render_to_string

from experiment.domain.item_checks import Finding
from experiment.models import ResearchField
from experiment.services.builtin_items import read_items
from scoring.domain.generating import Message

N_EXAMPLES = 2
NO_PURPOSE = "to know the field's findings, and what they would look like were they otherwise."


def default_instructions() -> str:
    return render_to_string("scoring/drafting/instructions.txt").strip()


def opening(
    instructions: str, research_field: ResearchField, subfield: str, abstract: str
) -> list[Message]:
    """The first turns. Places are {field}, {subfield}, {purpose}, {examples} and {abstract}; without the last, the abstract
    is a turn of its own. All other braces are text.
    """
    found = research_field.subfields.filter(name=subfield).first()
    values = {
        "field": research_field.name,
        "subfield": subfield or research_field.name,
        "purpose": (found.purpose if found else "") or NO_PURPOSE,
        "examples": "\n\n".join(examples(subfield)),
    }
    for name, value in values.items():
        instructions = instructions.replace(f"{{{name}}}", value)
    if "{abstract}" in instructions:
        return [Message("user", instructions.replace("{abstract}", abstract))]
    return [Message("system", instructions), Message("user", abstract)]


def examples(subfield: str) -> list[str]:
    """Two of the test cases that ship with the project, of this subfield where there are; never a lab's own."""
    people = [i for i in read_items() if i["kind"] == "test" and i["source"] == "human"]
    own = [item for item in people if item["subfield"] == subfield]
    chosen = [*own, *(item for item in people if item not in own)][:N_EXAMPLES]
    return [str(item["markup"]) for item in chosen]


def repair(findings: Sequence[Finding]) -> Message:
    """What is wrong with an answer, for the model to mend."""
    text = render_to_string("scoring/drafting/repair.txt", {"findings": findings})
    return Message("user", text.strip())
