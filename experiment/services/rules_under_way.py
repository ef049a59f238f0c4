"""Whether everybody who finished is decided by the study's newest rules, and what to say where that is not so yet."""

from django.template.loader import render_to_string

from experiment.domain.export_form import Form
from experiment.domain.trial_query import Problem, QueryError, TrialQuery
from experiment.models import Participant, RuleApplication, Study
from experiment.services.participant_kinds import kind_note


def rules_under_way(study: Study) -> RuleApplication | None:
    """What applies the newest rules, or failed or was stopped before all were decided; None where all are."""
    jobs = study.rule_applications.order_by("pk")
    still_open = jobs.filter(status__in=RuleApplication.OPEN_STATUSES).first()
    newest = still_open or jobs.last()
    is_over = newest is None or newest.status == RuleApplication.Status.FINISHED
    return None if is_over else newest


def are_mixed(study: Study, kind: str, rules: int | None = None) -> bool:
    """Whether two versions of the rules decide about these participants; a version that is asked for decides alone."""
    return (
        rules is None and kind != Participant.Kind.IMPORTED and rules_under_way(study) is not None
    )


def note_beside_numbers(study: Study, kind: str, rules: int | None = None) -> str:
    """What has to be said beside numbers of this kind, and of who is left out of them."""
    mixed = sentence(study) if are_mixed(study, kind, rules) else ""
    return " ".join(filter(None, (kind_note(study, kind), mixed)))


def sentence(study: Study) -> str:
    return render_to_string("experiment/rules_mixed.txt", {"version": study.version}).strip()


def refuse_mixed_release(study: Study, query: TrialQuery, form: Form) -> None:
    """Nothing is published that would say of some trials by mistake that no rule excludes them.

    Raises:
        QueryError: trials of the analysis for the public, while two versions of the rules decide.
    """
    if form.k and query.set == "analysis" and are_mixed(study, query.kind, query.rules):
        raise QueryError([Problem("release", "true", why=sentence(study))])
