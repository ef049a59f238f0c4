"""Arguments of a provider's model, to whom its texts may go, and what a site without Inspect is told. Starts no process."""

import pytest
from django.conf import LazySettings

from config.env import Env, EnvError
from scoring.backends.opening import check_generator_args, check_server, open_generator, stays_here
from scoring.domain.backend import ScoringError

MODEL = {"model": "anthropic/claude"}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({}, "needs model: --model_args model=PROVIDER/NAME"),
        ({"model": "claude"}, "expected PROVIDER/NAME"),
        ({"model": "hf/gpt2"}, "expected PROVIDER/NAME, with one of the providers anthropic"),
        (MODEL | {"enable_thinking": "True"}, "does not accept the argument “enable_thinking”"),
        (MODEL | {"concurrency": "513"}, "from 1 to 512"),
        ({"model": "bedrock/x", "base_url": "http://127.0.0.1:8000"}, "base_url cannot be given for bedrock"),
        ({"model": "anthropic/vertex/x", "base_url": "http://127.0.0.1:8000"}, "base_url cannot be given for anthropic/vertex"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_meant_are_refused(args: dict[str, str], sentence: str) -> None:
    with pytest.raises(ScoringError, match=sentence):
        check_generator_args("inspect", args)


@pytest.mark.parametrize(
    ("allowed", "model", "base_url", "is_allowed"),
    [
        ("localhost:*", "anthropic/claude", "", False),
        ("inspect:anthropic", "anthropic/claude", "", True),
        ("inspect:anthropic", "openai/gpt", "", False),
        ("inspect:openai", "openai/azure/gpt", "", False),
        ("inspect:openai/azure", "openai/azure/gpt", "", True),
        ("inspect:openai", "openai/gpt", "https://gateway.example.org/v1", False),
        ("gateway.example.org", "openai/gpt", "https://gateway.example.org/v1", True),
    ],
)
def test_texts_go_to_a_provider_that_the_site_names_or_to_an_allowed_address(
    allowed: str, model: str, base_url: str, is_allowed: bool, settings: LazySettings
) -> None:
    settings.SCORING_HOSTS = Env({"HOSTS": allowed}).servers("HOSTS", [])
    args = {"model": model} | ({"base_url": base_url} if base_url else {})
    if is_allowed:
        check_server("inspect", args)
    else:
        with pytest.raises(ScoringError, match="Texts may not be sent to"):
            check_server("inspect", args)


def test_a_provider_is_on_another_machine_and_an_address_may_be_on_this_one() -> None:
    assert not stays_here("inspect", MODEL)
    assert not stays_here("inspect", MODEL | {"base_url": "https://gateway.example.org"})
    assert stays_here("inspect", MODEL | {"base_url": "http://127.0.0.1:8000"})


def test_a_provider_in_the_setting_has_no_key_there_and_needs_none() -> None:
    hosts = ["inspect:openai", "gpu.example.org"]
    assert Env({"HOSTS": ",".join(hosts)}).servers("HOSTS", []) == hosts
    assert Env({"KEY": "k"}).server_keys("KEYS", "KEY", hosts) == {"gpu.example.org": "k"}
    with pytest.raises(EnvError, match="HOST=KEY"):
        Env({"KEYS": "inspect:openai=k"}).server_keys("KEYS", "KEY", hosts)


def test_a_site_without_inspect_is_told_what_installs_it(settings: LazySettings) -> None:
    settings.SCORING_HOSTS = ["inspect:anthropic"]
    settings.INSPECT_PYTHON = "/nowhere/python"
    with pytest.raises(ScoringError, match=r"not installed for this site\. `make inspect`"):
        open_generator("inspect", MODEL)
