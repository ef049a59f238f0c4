"""Participants and trials that are left out of the analysis, and why. Pure.

The rules are those that the BrainBench paper states in its methods, and two of ours: attention checks, and participants who read
hardly anything. A person can exclude a participant as well, whatever the rules are. Codes are stable, because exports and published analyses name them. Flags are for a person to look at: they exclude nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiment.domain.assignment import QUESTION

# Whose sliders count as untouched: nobody's, who never moved any of the two, or who never moved one of them.
Untouched = Literal["off", "neither", "either"]
# What "too fast" is measured to: Continue, or the first choice of a side.
Clock = Literal["page", "choice"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule: its stable code, what it is called, and the sentence a reader of an export sees."""

    code: str
    label: str
    sentence: str


MISSED_CATCH = Reason(
    "missed_catch",
    "missed a catch trial",
    "The participant chose the altered version in at least one catch trial.",
)
UNTOUCHED_SLIDERS = Reason(
    "untouched_sliders",
    "never moved a slider",
    "The participant never moved any confidence or expertise slider or, if the study's rules say so, never moved "
    "one of the two. Sliders of questions do not count.",
)
ADMITTED_CHEATING = Reason(
    "admitted_cheating", "admitted to having cheated", "The participant admitted to having cheated."
)
MISSED_ATTENTION = Reason(
    "missed_attention",
    "missed an attention check",
    "The participant gave an answer to an attention check other than the one it asked for.",
)
MOSTLY_TOO_FAST = Reason(
    "mostly_too_fast",
    "mostly too fast",
    "More than half of the participant's answers came in less than the minimum time of the rule “too fast”. Only answers count that the "
    "server timed; answers from earlier releases and imported ones do not.",
)
# After the rules: whoever breaks one is counted under it, and what a person's decision adds to the rules is seen
BY_HAND = Reason(
    "by_hand",
    "by hand",
    "A researcher excluded this participant, for a reason that no rule looks at. The site keeps the reason, with date and name.",
)
HAND_REASONS = {
    "bot": "a bot",
    "team": "somebody of the team, or a friend",
    "wrong_person": "a wrong person",
    "fault": "technical fault",
    "other": "another reason",
}
NOT_FINISHED = Reason(
    "not_finished", "not finished", "The participant did not reach the end of the study."
)
WITHDRAWN = Reason("withdrawn", "withdrawn", "The participant withdrew; the answers were erased.")
RECOGNISED = Reason(
    "recognised", "recognised", "The participant already knew the article or its result."
)
TOO_FAST = Reason(
    "too_fast",
    "too fast",
    "The participant answered this trial in less than the minimum time (5 s in the paper), measured until Continue was "
    "pressed or, if the study's rules say so, until the first choice. Where advice followed the participant's own answer, "
    "the time until that answer counts. Questions have a separate minimum, which does not apply to “I do not know”.",
)

PARTICIPANT_REASONS = (
    MISSED_CATCH,
    UNTOUCHED_SLIDERS,
    ADMITTED_CHEATING,
    MISSED_ATTENTION,
    MOSTLY_TOO_FAST,
    BY_HAND,
    NOT_FINISHED,
    WITHDRAWN,
)
TRIAL_REASONS = (RECOGNISED, TOO_FAST)

FAST_PAGE = Reason(
    "fast_page",
    "fast page",
    "The answer (in trials with advice after it: the first answer) came faster than the abstract can be read.",
)
MUCH_HIDDEN = Reason(
    "much_hidden", "much hidden", "The page was hidden for a long time while the trial was open."
)
DUPLICATE_EXTERNAL_ID = Reason(
    "duplicate_external_id",
    "duplicate external id",
    "Another participant has the same external ID.",
)
WRONG_ATTENTION = Reason(
    "wrong_attention",
    "wrong attention check",
    "The participant gave an answer to an attention check other than the one it asked for, whether or not the rules "
    "exclude participants for this.",
)
TIMES_DISAGREE = Reason(
    "times_disagree",
    "times disagree",
    "The browser reported more time than passed on the server between showing the page and receiving the answer. Rules go by "
    "the server's time.",
)
FLAGS = (FAST_PAGE, MUCH_HIDDEN, TIMES_DISAGREE, DUPLICATE_EXTERNAL_ID, WRONG_ATTENTION)

# The server shows a page before a browser can, and receives its answer after the browser sent it, whatever the network does:
# a browser's time can only be the longer one as far as two clocks differ, and the shorter is never too short for who is honest.
# Rules therefore go by the shorter. That they disagree is said from a second on, for clocks of several servers, which NTP keeps
# within a tenth of it, and one part in a thousand, for clocks that run at another speed, of which computers are within half.
CLOCKS_DIFFER_MS = 1_000
CLOCKS_DRIFT = 1_000


def is_overstated(browser_ms: int | None, server_ms: int | None) -> bool:
    """True if a browser reports more time than the server saw pass, by more than clocks differ; not where either measured nothing.

    >>> is_overstated(60_000, 300), is_overstated(6_000, 5_000), is_overstated(6_006, 5_000), is_overstated(60_000, None)
    (True, False, True, False)
    """
    if browser_ms is None or server_ms is None:
        return False
    return browser_ms - CLOCKS_DIFFER_MS - server_ms // CLOCKS_DRIFT > server_ms


def believed_ms(browser_ms: int | None, server_ms: int | None) -> int | None:
    """The time that rules go by: the browser's, and never more than passed on the server.

    >>> believed_ms(5_000, 4_060), believed_ms(4_000, 9_000), believed_ms(60_000, None)
    (4060, 4000, 60000)
    """
    if browser_ms is None or server_ms is None:
        return browser_ms
    return min(browser_ms, server_ms)


@dataclass(frozen=True, slots=True)
class Rules:
    """A study's rules. Limits are in milliseconds; 0 switches one off.

    `min_rt_ms`, its clock and `fast_page_ms` are of abstracts, `question_min_rt_ms` of answers to questions.
    """

    missed_catch: bool = True
    untouched_sliders: Untouched = "neither"
    admitted_cheating: bool = True
    missed_attention: bool = False
    recognised: bool = True
    min_rt_ms: int = 5_000
    min_rt_clock: Clock = "page"
    question_min_rt_ms: int = 0
    fast_page_ms: int = 15_000
    hidden_flag_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """The facts about a judged trial that the rules look at.

    `rt_ms` is the browser's time to Continue, on the first page where advice followed, or, where the browser could not measure (no JavaScript), the server's
    time between showing and receiving. `rt_choice_ms` is the browser's time to the first choice, None if not measured.
    `server_ms` is the time that passed on the server until the same answer as `rt_ms`; None where it is not known, as of answers
    before it was stored. `whole` is the browser's and the server's time of the whole trial, with the page that shows advice.
    `abstained`: “I do not know” was chosen in answer to a question.
    """

    trial_id: int
    stratum: str
    correct: bool
    recognised: bool
    rt_ms: int | None
    confidence_moved: bool
    expertise_moved: bool
    rt_choice_ms: int | None = None
    hidden_ms: int | None = None
    abstained: bool = False
    server_ms: int | None = None
    whole: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class ParticipantFacts:
    """The facts about a participant that the rules look at; `cheated` is None until they were asked."""

    finished: bool
    cheated: bool | None
    trials: Sequence[TrialFacts]
    shares_external_id: bool = False
    missed_attention: bool = False
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Reason codes and flags, in the order of the rules; empty tuples mean included and unflagged."""

    participant: tuple[str, ...]
    trials: Mapping[int, tuple[str, ...]]
    participant_flags: tuple[str, ...] = ()
    trial_flags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def judge_participant(facts: ParticipantFacts, rules: Rules) -> Verdict:
    """Apply the rules to one participant.

    >>> slow = TrialFacts(1, "human", True, False, 60_000, True, True)
    >>> fast = TrialFacts(2, "human", True, False, 4_999, True, True)
    >>> verdict = judge_participant(ParticipantFacts(True, False, [slow, fast]), Rules())
    >>> verdict.participant, verdict.trials[1], verdict.trials[2]
    ((), (), ('too_fast',))
    """
    flags = (
        (DUPLICATE_EXTERNAL_ID, facts.shares_external_id),
        (WRONG_ATTENTION, facts.missed_attention),
    )
    of_trials = {}
    for trial in facts.trials:
        reasons = (
            (RECOGNISED, rules.recognised and trial.recognised),
            (TOO_FAST, _is_too_fast(trial, rules)),
        )
        of_trials[trial.trial_id] = tuple(reason.code for reason, holds in reasons if holds)
    return Verdict(
        _participant_reasons(facts, rules),
        of_trials,
        tuple(flag.code for flag, holds in flags if holds),
        {trial.trial_id: _trial_flags(trial, rules) for trial in facts.trials},
    )


def left_untouched(trials: Sequence[TrialFacts], reading: Untouched) -> bool:
    """True if sliders were never moved in these trials; those of abstracts, since “I do not know” has no rating.

    >>> one_slider = TrialFacts(1, "human", True, False, 60_000, True, expertise_moved=False)
    >>> left_untouched([one_slider], "neither"), left_untouched([one_slider], "either")
    (False, True)
    """
    rated = [trial for trial in trials if trial.stratum != QUESTION]
    if reading == "off" or not rated:
        return False
    untouched = (
        not any(trial.confidence_moved for trial in rated),
        not any(trial.expertise_moved for trial in rated),
    )
    return all(untouched) if reading == "neither" else any(untouched)


def answer_ms(trial: TrialFacts, clock: Clock) -> int | None:
    """The time that "too fast" looks at, in milliseconds; None where nothing was measured. Never more than passed on the server.

    Where the choice was not timed, the time to Continue stands for it: it is never shorter.

    >>> trial = TrialFacts(1, "human", True, False, 9_000, True, True, rt_choice_ms=4_000)
    >>> answer_ms(trial, "page"), answer_ms(trial, "choice")
    (9000, 4000)
    """
    is_timed = clock == "choice" and trial.rt_choice_ms is not None
    return believed_ms(trial.rt_choice_ms if is_timed else trial.rt_ms, trial.server_ms)


def _participant_reasons(facts: ParticipantFacts, rules: Rules) -> tuple[str, ...]:
    missed = any(trial.stratum == "catch" and not trial.correct for trial in facts.trials)
    found = (
        (MISSED_CATCH, rules.missed_catch and missed),
        # Whoever left early may not have come to a slider; only a whole session says "never".
        (
            UNTOUCHED_SLIDERS,
            facts.finished and left_untouched(facts.trials, rules.untouched_sliders),
        ),
        (ADMITTED_CHEATING, rules.admitted_cheating and facts.cheated is True),
        (MISSED_ATTENTION, rules.missed_attention and facts.missed_attention),
        (MOSTLY_TOO_FAST, facts.finished and _is_mostly_too_fast(facts.trials, rules)),
        (BY_HAND, facts.by_hand),
        (NOT_FINISHED, not facts.finished),
    )
    return tuple(reason.code for reason, holds in found if holds)


def _is_too_fast(trial: TrialFacts, rules: Rules) -> bool:
    """By a time that suits what was answered; to leave out who quickly said "I do not know" would change the rate of it.

    >>> said = TrialFacts(1, "question", False, False, 2_000, False, False)
    >>> _is_too_fast(said, Rules()), _is_too_fast(said, Rules(question_min_rt_ms=3_000))
    (False, True)
    """
    if trial.stratum == QUESTION:
        time_ms = answer_ms(trial, "page")
        limit_ms = 0 if trial.abstained else rules.question_min_rt_ms
    else:
        time_ms, limit_ms = answer_ms(trial, rules.min_rt_clock), rules.min_rt_ms
    return time_ms is not None and time_ms < limit_ms


def _is_mostly_too_fast(trials: Sequence[TrialFacts], rules: Rules) -> bool:
    """True if they finished without having read: such a participant would fill a place and add nothing.

    >>> fast = TrialFacts(1, "human", True, False, 900, True, True, server_ms=1_000)
    >>> slow = TrialFacts(2, "human", True, False, 9_000, True, True, server_ms=9_100)
    >>> _is_mostly_too_fast([fast, fast, slow], Rules()), _is_mostly_too_fast([fast, slow], Rules())
    (True, False)
    """
    timed = [_is_too_fast(trial, rules) for trial in trials if trial.server_ms is not None]
    return 2 * sum(timed) > len(timed)


def _trial_flags(trial: TrialFacts, rules: Rules) -> tuple[str, ...]:
    whole_ms, on_server_ms = trial.whole
    hidden = believed_ms(trial.hidden_ms, on_server_ms) or 0
    page_ms = answer_ms(trial, "page")
    is_fast = page_ms is not None and page_ms < rules.fast_page_ms
    disagree = (
        is_overstated(trial.rt_ms, trial.server_ms)
        or is_overstated(trial.rt_choice_ms, trial.server_ms)
        or is_overstated(whole_ms, on_server_ms)
        or is_overstated(trial.hidden_ms, on_server_ms)
    )
    found = (
        # The time is one for an abstract
        (FAST_PAGE, is_fast and trial.stratum != QUESTION),
        (MUCH_HIDDEN, bool(rules.hidden_flag_ms) and hidden > rules.hidden_flag_ms),
        (TIMES_DISAGREE, disagree),
    )
    return tuple(flag.code for flag, holds in found if holds)
