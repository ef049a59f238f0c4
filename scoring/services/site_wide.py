"""Runs of the site itself, which count in every study (`scoring.models.counting`)."""

from experiment.services.usable import Person, is_site
from scoring.models import ChoiceRun, ScoringRun


def continued(run: ScoringRun | ChoiceRun, by: Person) -> None:
    """One that a study team continues is the team's: the rest of its numbers may come from another server or folder."""
    if run.is_site_wide and not is_site(by):
        run.is_site_wide = False
        run.save(update_fields=["is_site_wide"])
