"""Part of the import: which of the imported models the study's results are about, and which are extras.

The decisions of people come before the import's: a set that a person made or renamed stays as it is, and a model that
was taken out of the paper's does not come back.
"""

from collections.abc import Mapping

from experiment.models import Study
from scoring.domain.known_models import PAPER_MODELS, PAPER_SET
from scoring.models import LanguageModel, ModelSet, ModelSetMember

POSITIONS = {model.name: n for n, model in enumerate(PAPER_MODELS, start=1)}


def place_in_set(study: Study, new: Mapping[str, LanguageModel]) -> list[str]:
    """Let the paper's models whose results are new to the study be members of its set; returns notes."""
    members = {name: row for name, row in new.items() if name in POSITIONS}
    if not members:
        return []
    model_set, _ = ModelSet.objects.get_or_create(study=study, defaults={"name": PAPER_SET})
    if model_set.name != PAPER_SET:
        return [f"{study.slug} has a set of models of its own, “{model_set.name}”: left as it is."]
    held = dict(model_set.members.values_list("position", "language_model"))
    rows = []
    for name, row in members.items():
        if row.pk in held.values():
            continue
        # Its place in the paper's order, unless a person put another model there
        position = POSITIONS[name]
        position = max(held) + 1 if position in held else position
        held[position] = row.pk
        rows.append(ModelSetMember(model_set=model_set, language_model=row, position=position))
    ModelSetMember.objects.bulk_create(rows)
    return []
