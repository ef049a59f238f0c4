"""The start of this app, and all that it adds to the apps below, which cannot import it.

Models may be read from `ready` on; packages that compute are imported when they are needed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from analysis.services.advising import WorkedOut
    from experiment.domain.release import Form
    from experiment.domain.trial_query import TrialQuery
    from experiment.models import Study
    from experiment.services.export.data_set import MoreTables
    from scoring.models import ScoringRun


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from analysis.services.compute import data_set_state, forget_results
        from experiment.models import Study
        from experiment.services import advisers
        from experiment.services.export import data_set
        from experiment.services.withdrawal import people_erased
        from scoring.lm_eval import ADDED_TO_SAMPLES

        advisers.ADVISING.append(advisers.Advising(work_out_advice, check_advice))
        data_set.ADDITIONS.append(data_set.Addition(tables_of_models, data_set_state))
        ADDED_TO_SAMPLES.append(flips_of_samples)
        people_erased.connect(forget_results, sender=Study)


def work_out_advice(study: "Study", to_add: set[int] | None) -> "WorkedOut":
    """Advice of models and people."""
    from analysis.services.advising import work_out

    return work_out(study, to_add)


def check_advice(study: "Study", to_add: set[int] | None) -> None:
    from analysis.services.advising import check

    check(study, to_add)


def tables_of_models(study: "Study", query: "TrialQuery", form: "Form") -> "MoreTables":
    """Models and teams in a data set."""
    from analysis.data_set import more_tables

    return more_tables(study, query, form)


def flips_of_samples(run: "ScoringRun") -> Mapping[tuple[int, int], Mapping[str, Any]]:
    """Changes of a run's preferences along the text, written with its samples."""
    from analysis.report.services.traces import sample_flips

    return sample_flips(run)
