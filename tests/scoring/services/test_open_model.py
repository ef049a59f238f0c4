"""The name of a model and its row, and that one model at a time is open."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Study
from scoring.domain.backend import ScoringError
from scoring.domain.known_models import MODELS
from scoring.models import LanguageModel
from scoring.services.open_model import (
    OneModel,
    default_name,
    ensure_language_model,
    language_model,
)
from scoring.services.runs import create_run
from tests.scoring.tiny_models import save_gpt2


@pytest.mark.parametrize(
    ("kind", "args", "name"),
    [
        ("hf", {"pretrained": "meta-llama/Llama-2-7b-hf"}, "meta-llama/Llama-2-7b-hf"),
        ("transformers", {"pretrained": "/data/lab/tiny/"}, "lab/tiny"),
        ("hf", {"pretrained": "base", "peft": "/adapters/neuro"}, "base + neuro"),
        (
            "hf",
            {"pretrained": "/hub/models--mistralai--Mistral-7B-v0.1/snapshots/26bca36b"},
            "mistralai/Mistral-7B-v0.1",
        ),
        ("completions", {"model": "org/large", "base_url": "http://127.0.0.1:8000"}, "org/large"),
        ("embedded", {}, "brainbench-live/demo-lm"),
    ],
)
def test_a_model_goes_by_what_its_arguments_name(
    kind: str, args: Mapping[str, str], name: str
) -> None:
    assert default_name(kind, args) == name


@pytest.mark.django_db
def test_a_name_that_no_model_can_have_is_refused() -> None:
    with pytest.raises(ScoringError, match="A model cannot be called"):
        language_model("transformers", "x" * 201)


def test_runs_of_one_model_load_it_once_and_another_takes_its_place(tmp_path: Path) -> None:
    args = {"pretrained": str(save_gpt2(tmp_path / "tiny"))}
    models = OneModel()
    first = models.open("transformers", args)
    assert models.open("transformers", dict(args)) is first
    second = models.open("transformers", {**args, "dtype": "float64"})
    assert second is not first
    with pytest.raises(ScoringError):
        models.open("transformers", {"pretrained": str(tmp_path / "none")})
    assert (models.backend, models.key) == (None, None)  # two models may not fit into memory
    models.close()


@pytest.mark.django_db
def test_a_model_is_made_once_with_what_is_published_of_it() -> None:
    chat = ensure_language_model("meta-llama/Llama-2-7b-chat-hf")
    assert (chat.display_name, chat.family, chat.is_chat) == ("Llama-2-7B (chat)", "Llama-2", True)
    assert chat.base_partner is not None
    assert (chat.base_partner.name, chat.n_parameters) == ("meta-llama/Llama-2-7b-hf", 7 * 10**9)
    assert (chat.training_cutoff, chat.released) == (date(2022, 9, 30), date(2023, 7, 31))
    corpora = dict(chat.training_corpora.values_list("corpus", "status"))
    assert corpora["arxiv_abstracts_20210601_20211231"] == "likely"
    assert corpora["arxiv_abstracts_20230601_20231231"] == "absent"
    assert corpora["biorxiv_abstracts_2023-06-01_2023-12-01"] == "unknown"
    chat.training_corpora.all().delete()
    ensure_language_model(chat.name)
    assert not chat.training_corpora.exists()  # as an administrator left it
    assert ensure_language_model(chat.name) == chat
    assert LanguageModel.objects.count() == 2


@pytest.mark.django_db
def test_a_models_row_is_never_written_over() -> None:
    ensure_language_model("gpt2")
    LanguageModel.objects.update(display_name="The small one", family="ours")
    again = ensure_language_model("gpt2")
    assert (again.display_name, again.family) == ("The small one", "ours")
    assert again.n_parameters == 124_000_000


@pytest.mark.django_db
def test_a_new_model_is_a_chat_model_where_its_name_says_so():
    assert not language_model("chat", "org/large").is_chat
    assert language_model("transformers", "org/tiny-1b-Instruct").is_chat
    assert not language_model("transformers", "org/tiny-1b").is_chat


@pytest.mark.django_db
def test_no_request_makes_a_known_model_another_kind_of_model() -> None:
    """The first to ask for it makes its row, for all labs: as it is published, whatever serves it under its name."""
    assert not language_model("chat", "gpt2").is_chat
    for name in ("meta-llama/Llama-2-7b-hf", "org/new"):
        with pytest.raises(ScoringError, match="cannot be called"):
            language_model("embedded", name)
        assert not language_model("transformers", name).is_demo
    assert language_model("embedded", default_name("embedded", {})).is_demo


@pytest.mark.django_db
def test_nobody_keeps_a_published_model_from_being_scored(study: Study) -> None:
    """Look-alikes of them are refused, be they scored yet or not; what a lab calls its own is in no other's way."""
    for name in MODELS:
        with pytest.raises(ValidationError, match="looks like the name of another"):
            ensure_language_model(name.swapcase())
    assert {ensure_language_model(name).name for name in MODELS} == set(MODELS)
    theirs, like_theirs = "Org/new-mode1", "org/new-model"
    LanguageModel.objects.create(name=theirs, display_name="m")
    model = ensure_language_model(like_theirs)
    create_run(study=study, language_model=model, backend="completions", model_args={})
    with pytest.raises(ValidationError, match="looks like the name of another"):
        ensure_language_model("ORG/new-model")
