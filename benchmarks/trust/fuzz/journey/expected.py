"""What must hold of a participant after every step."""

from benchmarks.trust.fuzz.journey.person import FoundError, Person
from experiment.models import Judgment, Participant

Stage = Participant.Stage


def look(person: Person) -> None:
    """Acknowledged answers are stored, once and as they were sent; nothing is stored that was not sent; positions have no gaps."""
    row = person.row()
    if row is None:
        return
    judged = list(
        Judgment.objects.filter(trial__participant=row)
        .order_by("trial__position")
        .values_list("trial__position", "idempotency_key", "side")
    )
    stored = {position: (str(key), side) for position, key, side in judged}
    positions = list(row.trials.order_by("position").values_list("position", flat=True))
    if row.stage == Stage.WITHDRAWN or row.is_anonymous:
        _check(not judged or row.is_anonymous, "withdrawn, and still with answers")
        return
    _check(not person.wants_out, "told that they are withdrawn, and they are not")
    _check(len(stored) == len(judged), "several answers to one trial")
    _check(positions == list(range(1, len(positions) + 1)), f"trials at {positions}")
    _check(sorted(stored) == list(range(1, len(stored) + 1)), f"answers at {sorted(stored)}")
    for position, answer in person.told.items():
        _check(stored.get(position) == answer, f"answer {position} is lost or another one")
    for position, answer in stored.items():
        sent = {(key.lower(), side) for key, side in person.sent.get(position, ())}
        _check(_plain(answer) in map(_plain, sent), f"answer {position} was never sent")
    _check_stage(row, len(stored), len(positions))


def _plain(answer: tuple[str, str]) -> tuple[str, str]:
    return answer[0].replace("-", ""), answer[1]


def _check_stage(row: Participant, n_answers: int, n_trials: int) -> None:
    match row.stage:
        case Stage.TRIAL:
            _check(n_answers == row.position - 1, f"{n_answers} answers at trial {row.position}")
            _check(n_trials - n_answers in (0, 1), f"{n_trials} trials and {n_answers} answers")
        case Stage.DEBRIEF | Stage.FINISHED:
            _check(n_answers == row.n_trials, f"{n_answers} answers at the end")
        case _:
            _check(n_answers == n_trials == 0, f"{n_answers} answers before the trials")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise FoundError(what)
