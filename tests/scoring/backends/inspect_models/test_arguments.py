"""Arguments of a provider's model, to whom its texts may go, what is read of an answer, and what a site without Inspect is told.

Needs no Inspect: the process that would ask it is started where there is none.
"""

import json
import subprocess
import sys
from typing import Any

import pytest
from django.conf import LazySettings

from config.env import Env, EnvError
from scoring.backends.inspect_models import PROCESS, read_output
from scoring.backends.opening import check_generator_args, check_server, open_generator, stays_here
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Usage
from scoring.domain.thinking import Marks

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


@pytest.mark.parametrize("name", ["input_tokens", "input_tokens_cache_read", "output_tokens", "reasoning_tokens"])  # fmt: skip
@pytest.mark.parametrize("said", [-5, 10**12, 1.5, True])
def test_numbers_of_tokens_that_cannot_be_are_as_good_as_none(name: str, said: Any) -> None:
    counts = {"input_tokens": 5, "output_tokens": 4}
    output = {"choices": [{"message": {"content": "Yes."}, "stop_reason": "stop"}]}
    assert read_output(output | {"usage": counts}, 0.5, {}, Marks()).usage == Usage(5, 4)
    assert read_output(output | {"usage": counts | {name: said}}, 0.5, {}, Marks()).usage is None


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("e", "No module named 'inspect_ai'"),
        ("No module named '", "…inspect_ai'"),
    ],
)
def test_a_key_that_texts_have_by_chance_damages_no_line(key: str, says: str) -> None:
    begin = {"model": "openai/gpt", "base_url": "", "api_key": key, "concurrency": 1}
    command = [sys.executable, "-I", str(PROCESS)]
    found = subprocess.run(
        command, input=json.dumps(begin) + "\n", capture_output=True, text=True, env={}, check=True
    )
    assert json.loads(found.stdout)["error"]["says"] == says
