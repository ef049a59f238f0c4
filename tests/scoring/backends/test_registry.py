"""The one list of kinds of models: what holds for each, and so for one that is added."""

import pytest

from experiment.models import Study
from scoring.backends.opening import open_backend, open_generator
from scoring.backends.registry import HF, KINDS, WRITERS, ModelKind, Place
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun
from scoring.models.answers import Kind
from scoring.services.asking.settings import Asked
from scoring.services.choosing.runs import choice_run
from tests.scoring.made_runs import ask

SERVERS = [kind for kind in KINDS if kind.place == Place.SERVER]


def test_no_two_kinds_share_a_name_and_each_fits_its_column() -> None:
    names = [name for kind in KINDS for name in (kind.name, kind.stored_as) if name]
    taken = {*names, *Kind.values, *ScoringRun.Backend.values}
    assert len(taken) == len(names) + len({*Kind.values, *ScoringRun.Backend.values})
    assert max(map(len, names)) <= (ScoringRun._meta.get_field("backend").max_length or 0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_can_do_something_and_says_which_model_is_meant(kind: ModelKind) -> None:
    assert kind.scores or kind.writes
    assert bool(kind.named_by) != bool(kind.only_name)


@pytest.mark.parametrize("kind", SERVERS, ids=lambda kind: kind.name)
def test_no_server_is_opened_that_the_site_does_not_name(
    kind: ModelKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own check may let any address pass, as this one does."""
    outside = {"base_url": "http://192.0.2.7:8000"}
    for way, opener in ((kind.scores, open_backend), (kind.writes, open_generator)):
        if way is None:
            continue
        with monkeypatch.context() as patched:
            patched.setitem(way.__dict__, "check", lambda args: None)
            patched.setitem(way.__dict__, "open", lambda args: pytest.fail("was opened"))
            with pytest.raises(ScoringError, match="may not be sent to 192"):
                opener(kind.name, outside)


@pytest.mark.django_db
def test_a_scoring_run_of_hf_is_stored_under_the_name_that_older_rows_have(study: Study) -> None:
    by_word, by_row = ask(study, backend=HF.name), ask(study, backend=HF.stored_as)
    assert by_word.backend == by_row.backend == "transformers"
    assert by_word.fingerprint == by_row.fingerprint


@pytest.mark.django_db
@pytest.mark.parametrize("word", ["typewriter", *Kind.values])
def test_no_run_is_made_of_an_unknown_kind_though_the_database_would_take_it(
    study: Study, word: str
) -> None:
    with pytest.raises(ScoringError, match=f"“{word}” is not a generator. Choose from chat"):
        Asked(word, {}).check()
    with pytest.raises(ScoringError, match=f"“{word}” is not a kind of model"):
        choice_run(study, Asked(word, {}))


def test_those_that_only_score_are_not_asked_to_write() -> None:
    assert WRITERS
    for kind in KINDS:
        if not kind.writes:
            with pytest.raises(ScoringError, match="is not a generator"):
                Asked(kind.name, {}).check()
