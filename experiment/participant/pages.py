"""From a participant's state to an address, and to what every page shows."""

import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from django.shortcuts import redirect
from django.urls import reverse

from experiment.domain.markup import Alternation, Segment
from experiment.domain.presentation import by_side
from experiment.enrollment import practice_item, practice_side
from experiment.flow import current_page, n_pages, page_number
from experiment.models import Judgment, Participant, Trial

Stage = Participant.Stage

PAGE_NAMES = {
    Stage.DEMOGRAPHICS: "demographics",
    Stage.PRACTICE: "practice",
    Stage.TRIAL: "trial",
    Stage.DEBRIEF: "debrief",
    Stage.FINISHED: "done",
    Stage.WITHDRAWN: "withdraw",
}


def url_of(participant: Participant) -> str:
    """The address of the page that the participant is on."""
    page = current_page(participant)
    args: list[Any] = [participant.study.slug]
    if page.position is not None:
        args.append(page.position)
    return reverse(f"participant:{PAGE_NAMES[Stage(page.stage)]}", args=args)


def redirect_to(participant: Participant):
    # 303: whatever the method was, the next request is a GET.
    response = redirect(url_of(participant))
    response.status_code = 303
    return response


def progress(participant: Participant) -> dict[str, Any]:
    """How far the participant is: pages done, pages in all, and in words."""
    labels = {
        Stage.DEMOGRAPHICS: "About you",
        Stage.PRACTICE: "Practice",
        Stage.TRIAL: f"Abstract {participant.position} of {participant.n_trials}",
        Stage.DEBRIEF: "Your results",
        Stage.FINISHED: "Done",
    }
    # Consent, which everyone here has behind them, is a page too.
    return {
        "value": page_number(participant) + 1,
        "max": n_pages(participant.n_trials) + 1,
        "label": labels[Stage(participant.stage)],
    }


def trial_context(participant: Participant, trial: Trial) -> dict[str, Any]:
    return {
        "trial_token": str(trial.token),
        "segments": by_side(trial.item.segments, trial.original_side),
        "position": trial.position,
        "total": participant.n_trials,
        "practice": False,
    }


def practice_context(participant: Participant) -> dict[str, Any]:
    item = practice_item(participant.study)
    return {
        "trial_token": str(uuid.uuid5(participant.public_id, "practice")),
        "segments": by_side(item.segments, practice_side(participant)),
        "practice": True,
    }


def original_segments(segments: Iterable[Segment]) -> list[dict[str, Any]]:
    """The original, cut where the other version differed."""
    return [
        {"text": segment.original, "is_alternation": True}
        if isinstance(segment, Alternation)
        else {"text": segment.text, "is_alternation": False}
        for segment in segments
    ]


def results_context(participant: Participant) -> dict[str, Any]:
    """The debrief's list: the test trials in the order they were shown, by their numbers then."""
    given = Judgment.objects.filter(trial__participant=participant)
    given = given.select_related("trial__item").order_by("trial__position")
    judgments = [judgment for judgment in given if judgment.trial.stratum != "catch"]
    results = [
        {
            "number": judgment.trial.position,
            "correct": judgment.correct,
            "chosen_side": judgment.side,
            "segments": original_segments(judgment.trial.item.segments),
            "doi_url": judgment.trial.item.doi_url,
            "subfield": judgment.trial.item.subfield,
        }
        for judgment in judgments
    ]
    return {
        "results": results,
        "n_correct": sum(judgment.correct for judgment in judgments),
        "n_test": len(judgments),
        "n_catch": len(given) - len(judgments),
        "withdrawal_code": participant.withdrawal_code,
    }


def fill_in(url: str, external_id: str) -> str:
    """An address of a recruitment site with the participant's id there in place of {external_id}, quoted."""
    return url.replace("{external_id}", quote(external_id, safe=""))
