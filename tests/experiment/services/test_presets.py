"""What a preset makes of a study, on the pages and in the debrief; the strict one beside the printed procedure."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, Study
from experiment.participant import showing
from experiment.participant.forms import DemographicsForm
from experiment.services import taking_part
from experiment.services.study_setup import create_study
from tests.experiment import people
from tests.factories import NOW, make_study

pytestmark = pytest.mark.django_db


def test_the_strict_preset_is_the_papers_study() -> None:
    study = create_study("strict", "brainbench-strict")
    assert study.trial_counts == {"human": 6, "machine": 3, "catch": 2}
    assert (study.policy, study.ratings_required, study.field) == ("paper", True, "neuroscience")
    assert study.demographic_fields == ["gender", "age", "country", "position", "experience_years"]
    assert (study.debrief_catch_trials, study.reading_aid) == (True, False)


def test_our_preset_keeps_the_balanced_draw_optional_ratings_and_silent_catch_trials() -> None:
    study = create_study("ours", "brainbench")
    assert (study.policy, study.ratings_required) == ("balanced", False)
    assert (study.debrief_catch_trials, study.reading_aid) == (False, True)


@pytest.mark.parametrize("with_catch", [True, False])
def test_the_debrief_lists_catch_trials_where_the_study_says_so(with_catch: bool) -> None:
    study = make_study(recruitment="open", debrief_catch_trials=with_catch)
    person = people.answer(people.start(study), until=study.n_trials)
    results = showing.results(person)
    strata = dict(person.trials.values_list("position", "stratum"))
    listed = [strata[result.number] for result in results.results]
    assert listed.count("catch") == (2 if with_catch else 0)
    assert (results.n_listed, results.n_unlisted) == ((11, 0) if with_catch else (9, 2))


def test_years_of_experience_are_asked_in_the_studys_field(client: Client) -> None:
    for field, asked in (
        ("neuroscience", "neuroscience, broadly construed"),
        ("", "your research field, broadly construed"),
    ):
        study = make_study(f"study-{len(field)}", field=field, recruitment="open")
        page = people.client_of(people.enroll(study)).get(f"{study.get_absolute_url()}about-you/")
        assert asked in page.content.decode()


def test_an_ethics_approval_is_shown_at_consent_and_is_whole_or_absent(client: Client) -> None:
    approval = {
        "ethics_number": "AB/2026/007",
        "ethics_body": "Review Board of the <City>",
        "ethics_contact": "board@example.org",
    }
    study = make_study(recruitment="open", **approval)
    page = client.get(study.get_absolute_url()).content.decode()
    assert "AB/2026/007" in page
    assert "Review Board of the &lt;City&gt;" in page
    assert "board@example.org" in page
    with pytest.raises(ValidationError, match="the body that gave it"):
        create_study("half", "brainbench", ethics_number="AB/2026/007")


STRICT = {"preset": "brainbench-strict", "recruitment": "open"}
# A printed step of the procedure -> what the strict preset's study does there
Check = Callable[[Study, re.Match[str]], bool]


def has_counts(study: Study, printed: re.Match[str]) -> bool:
    n_all, *counts = map(int, printed.groups())
    return study.n_trials == n_all and list(study.trial_counts.values()) == counts


def draws_all_from_a_counter(study: Study, printed: re.Match[str]) -> bool:
    person = people.answer(people.start(study), until=1)
    # The printed counter counts a use when it is given out, all of a session at once
    return person.policy == "paper" and person.trials.count() == study.n_trials


def asks_the_demographics(study: Study, printed: re.Match[str]) -> bool:
    form = DemographicsForm(fields=study.demographic_fields, field=study.field)
    names = ("gender", "age", "country", "position", "experience_years")
    label = str(form["experience_years"].label)
    return tuple(form.fields) == names and f"{study.field}, broadly construed" in label


def practice_is_left_by_the_right_choice(study: Study, printed: re.Match[str]) -> bool:
    at = people.open_page(study, "practice")
    at.send(side="AB"[at.fields["side"] == "A"])
    at.person.refresh_from_db()
    stays = at.person.stage == Participant.Stage.PRACTICE
    at.send()
    at.person.refresh_from_db()
    return stays and at.person.stage != Participant.Stage.PRACTICE


def requires_both_ratings(study: Study, printed: re.Match[str]) -> bool:
    at = people.open_page(study, "trial")
    refused = [at.send(**{name: ""}).status_code for name in ("confidence", "expertise")]
    return refused == [422, 422] and at.send().status_code == 303


def asks_whether_it_was_known(study: Study, printed: re.Match[str]) -> bool:
    at = people.open_page(study, "trial")
    return at.send(recognised="").status_code == 422


def debrief_lists_every_trial(study: Study, printed: re.Match[str]) -> bool:
    at = people.open_page(study, "debrief")
    return showing.results(at.person).n_listed == study.n_trials


def asks_about_cheating(study: Study, printed: re.Match[str]) -> bool:
    at = people.open_page(study, "debrief")
    at.send(cheated="1")
    at.person.refresh_from_db()
    return at.person.cheated is True


def begins_with_consent(study: Study, printed: re.Match[str]) -> bool:
    page = people.client_of().get(study.get_absolute_url()).content.decode()
    return study.briefing.split(".")[0] in page and study.consent.text.split(".")[0] in page


def one_choice_a_trial(study: Study, printed: re.Match[str]) -> bool:
    person = people.answer(people.start(study), until=2)
    return all(j.side in "AB" for j in Judgment.objects.filter(trial__participant=person))


PROCEDURE: tuple[tuple[str, Check], ...] = (
    (r"briefing and consent", begins_with_consent),
    (r"gender identity, age, country, .*position, years of experience.*", asks_the_demographics),
    (r"one practice trial .*left only by the right choice.*", practice_is_left_by_the_right_choice),
    (
        r"(\d+) trials in random order: (\d+) human-created, (\d+) machine-created, (\d+) catch",
        has_counts,
    ),
    (r"a global counter of uses.*", draws_all_from_a_counter),
    (r"one click chooses all passages of one version", one_choice_a_trial),
    (r"then both ratings, required.*", requires_both_ratings),
    (r"then whether the study had been encountered before", asks_whether_it_was_known),
    (r"debrief on which of the trials were right", debrief_lists_every_trial),
    (r"then a checkbox about cheating", asks_about_cheating),
)


@pytest.fixture
def printed(shared_dir: Path) -> str:
    text = (shared_dir / "reference" / "FIGURES.md").read_text(encoding="utf-8")
    return text.split("## The procedure, as printed\n")[1].split("\n## ")[0].strip()


def test_the_strict_preset_does_what_is_printed_item_by_item_in_that_order(printed: str) -> None:
    procedure = printed.split("\nExcluded:")[0].replace("\n", " ").rstrip(".")
    steps = [step.strip() for step in procedure.split(";")]
    assert len(steps) == len(PROCEDURE)
    for n, (step, (pattern, holds)) in enumerate(zip(steps, PROCEDURE, strict=True)):
        found = re.fullmatch(pattern, step)
        assert found, step
        assert holds(make_study(f"study-{n}", human=8, machine=5, **STRICT), found), step


def test_the_strict_preset_excludes_what_is_printed(printed: str) -> None:
    listed = printed.split("Excluded:")[1].strip().rstrip(".")
    seconds = re.search(r"trials under (\d+) s", listed)
    assert [rule.strip() for rule in listed.split(";")] == [
        "not both catch trials right",
        "no slider moved in any trial",
        "cheating admitted",
        "trials recognised",
        seconds.group(0),
    ]
    study = make_study(**STRICT)
    assert study.exclusion_rules == Rules(
        missed_catch=True,
        untouched_sliders="neither",
        admitted_cheating=True,
        recognised=True,
        min_rt_ms=1000 * int(seconds.group(1)),
        min_rt_clock="page",
    )


def test_pages_come_in_the_printed_order() -> None:
    study = make_study(**STRICT)
    met: list[str] = []

    def note(person: Participant) -> None:
        person.refresh_from_db()
        page = "experiment" if person.stage in ("start", "trial") else person.stage
        if page not in met[-1:]:
            met.append(page)

    person = people.enroll(study)
    note(person)
    taking_part.save_demographics(person, {"age": "34"}, NOW)
    note(person)
    taking_part.attempt_practice(person, taking_part.practice_side(person), NOW)
    note(person)
    person = taking_part.start_trials(person, NOW)
    note(person)
    for n in range(1, study.n_trials + 1):
        people.answer(person, until=n)
        note(person)
    taking_part.finish(person, cheated=False, comments="", now=NOW)
    note(person)
    assert met == ["demographics", "practice", "experiment", "debrief", "finished"]
