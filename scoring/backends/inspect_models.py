"""Has a provider's model write, through Inspect: its own interface, with its reasoning, structured answers and errors.

Inspect's packages exclude versions that this project has, so a process in a Python of their own asks (`make inspect`). What it
may spend, when it is asked again, and how its answers are read is decided here.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from lib import strict_json
from scoring.backends.http import KEYS_VARIABLE
from scoring.backends.http.address import (
    allowed_address,
    allowed_provider,
    inspect_python,
    key_of,
)
from scoring.backends.http.attempts import Attempts
from scoring.backends.http.errors import (
    RETRIED,
    TOO_MANY,
    GaveUpError,
    RefusedError,
    RetryableError,
    asked_pause_s,
    clean,
    is_moderated,
)
from scoring.backends.http.limits import Limits
from scoring.backends.options import before_an_answer, read_inspect_options
from scoring.backends.remote import FORBIDDEN, Form, Remote, with_answer_form
from scoring.domain.answer_lines import MOST_TOKENS
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.choosing.odds import read_tokens
from scoring.domain.generating import Finish, Generated, Message, Usage, storable, storable_json
from scoring.domain.thinking import Marks, apart

PROCESS = Path(__file__).with_name("inspect_process.py")
START_S = 120.0
SLACK_S = 10.0  # for the process, after the time of an attempt
LONGEST = 2**24  # bytes of a line
UNAUTHORIZED = 401
READ = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
COUNTS = (*READ, "output_tokens", "reasoning_tokens")
FINISHES = {
    "stop": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
}
# Of the environment, beside the provider's own variables
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
# Variables of the providers whose names do not begin with the provider's
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZUREAI_", "AZURE_"),
    "azureai": ("AZUREAI_", "AZURE_"),
    "bedrock": ("AWS_", "BEDROCK_"),
    "google": ("GOOGLE_", "GEMINI_"),
    "grok": ("XAI_", "GROK_"),
    "hf-inference-providers": ("HF_",),
    "vertex": ("GOOGLE_", "VERTEX_", "ANTHROPIC_VERTEX_"),
}
_MARKUP = re.compile(r"\[/?(?:bold|blue|cyan|link[^\[\]]*)\]")


class InspectGenerator(Remote):
    """A provider's model behind Inspect. `args`: model (PROVIDER/NAME), base_url, concurrency, max_tokens, ..."""

    kind = "inspect"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._options = options = read_inspect_options(args)
        self.concurrency = options.concurrency
        self.max_tokens = options.writing.max_tokens
        self._marks = Marks(options.writing.think_end_token or "")
        self._limits = Limits()
        self._policy = before_an_answer(options.policy)
        if options.base_url:
            address = allowed_address(options.base_url)
            listed, elsewhere = address.listed, f"in {KEYS_VARIABLE}"
            key, server = key_of(address) or "none", f"The server at {address.origin}"
            environment = passed_on(os.environ, "")
        else:
            listed, elsewhere = allowed_provider(options.provider), "in the environment"
            # Else Inspect takes the key from the provider's own variables
            key, server = listed.key if listed else "", f"The provider {options.provider}"
            environment = passed_on(os.environ, options.provider)
        self._key_place = "on the page Model servers" if listed and listed.key else elsewhere
        begin = {
            "model": options.model,
            "base_url": options.base_url,
            "api_key": key,
            "concurrency": options.concurrency,
        }
        python = find_python()
        super().__init__(server)
        assert self._portal is not None
        self._process = _Process(python, environment)
        try:
            self._version = self._portal.call(self._process.start, begin)
        except BaseException:
            self.close()
            raise

    def identity(self) -> dict[str, Any]:
        """Everything that is known of the model; providers do not say more."""
        at = {"base_url": self._options.base_url} if self._options.base_url else {}
        return {
            "generator": self.kind,
            "model": self._options.model,
            "inspect_ai": self._version,
            **at,
            **self._options.writing.as_dict(),
        }

    def close(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None and self._portal is not None:
            self._portal.call(process.stop)
        super().close()

    def _parameters(
        self, schema: Mapping[str, Any] | None, sample: int, wants_tokens: bool, form: Form
    ) -> dict[str, Any]:
        writing = self._options.writing
        parameters = {"model": self._options.model, **writing.as_dict()}
        parameters.pop("think_end_token", None)
        if writing.seed is not None:
            parameters["seed"] = writing.seed + sample
        return with_answer_form(parameters, form, schema, wants_tokens=wants_tokens)

    async def _ask(
        self,
        messages: Sequence[Message],
        parameters_in: Callable[[Form], dict[str, Any]],
        on_sent: Callable[[], None],
    ) -> Generated:
        began = time.monotonic()
        turns = [{"role": m.role, "content": m.content} for m in messages]
        while True:
            form = self._form
            parameters = parameters_in(form)
            attempt = partial(self._attempt, turns, parameters, on_sent)
            try:
                output = await Attempts(attempt, self._policy, self._limits, self._server).result()
                self.has_answered, self._policy = True, self._options.policy
                return read_output(output, time.monotonic() - began, parameters, self._marks)
            except RefusedError as error:
                easier = form.easier(error, parameters)
                if easier is None:
                    return self._refusal(error, time.monotonic() - began, parameters)
                self._form = easier
            except GaveUpError as error:
                if error.is_of_request:
                    raise NoAnswerError(str(error)) from error
                raise

    async def _attempt(
        self,
        turns: Sequence[Mapping[str, str]],
        parameters: Mapping[str, Any],
        on_sent: Callable[[], None],
        timeout_s: float,
    ) -> Any:
        config = {n: v for n, v in parameters.items() if n not in ("model", "response_format")}
        asked = parameters.get("response_format", {}).get("json_schema", {}).get("schema")
        question = {"turns": turns, "config": config, "schema": asked, "timeout": timeout_s}
        on_sent()
        try:
            async with asyncio.timeout(timeout_s + SLACK_S):
                told = await self._process.ask(question)
        except TimeoutError as error:
            raise RetryableError(f"did not answer within {timeout_s:.3g} s") from error
        self._limits.read(told["headers"])
        if "output" not in told:
            raise self._failure(told["error"], told["headers"], timeout_s)
        return told["output"]

    def _failure(
        self, told: Mapping[str, Any], headers: Mapping[str, str], timeout_s: float
    ) -> Exception:
        """The meaning of what Inspect's process says of a provider's error."""
        if told["kind"] == "TimeoutError":
            return RetryableError(f"did not answer within {timeout_s:.3g} s")
        said, status = clean(_MARKUP.sub("", told["says"])), told["status"]
        if told["kind"] == "ElsewhereError":
            return ScoringError(
                f"{self._server} leads to another one ({said}), to which texts may not be sent."
            )
        if told["kind"] == "RedirectedError":
            return ScoringError(
                f"{self._server} redirects to another one. Redirects are not followed."
            )
        is_spent = status == TOO_MANY and not told["is_transient"]
        if is_spent:
            return ScoringError(f"{self._server} does not accept further requests (429: {said}).")
        if status in RETRIED or (told["is_transient"] and status):
            pause_s = asked_pause_s(headers)
            return RetryableError(f"answered {status} ({said})", status, pause_s, said)
        if told["is_connection"] or told["is_transient"]:
            return RetryableError(f"cannot be reached: {said}", is_reached=False)
        if status == UNAUTHORIZED:
            return ScoringError(
                f"{self._server} needs a key, but it does not accept the one {self._key_place} (401: {said})."
            )
        if not status:
            return NoAnswerError(f"{self._server} could not be asked ({told['kind']}: {said}).")
        return RefusedError(status, said, clean(told["code"], 60))

    def _refusal(
        self, error: RefusedError, seconds: float, parameters: Mapping[str, Any]
    ) -> Generated:
        if error.status == FORBIDDEN and not is_moderated(error):
            raise NoAnswerError(f"{self._server} refused: {error}.") from error
        return self._refused(error, seconds, parameters)


class _Process:
    """Inspect's process; lives in one event loop."""

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        self._python, self._environment = python, environment
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self, begin: Mapping[str, Any]) -> str:
        """Open the model; Inspect's version.

        Raises:
            ScoringError: it cannot be opened.
        """
        self._process = await asyncio.create_subprocess_exec(
            self._python,
            "-I",  # the folder of the file has names that Python's own library has
            PROCESS,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(self._environment),
            cwd="/",
            limit=LONGEST,
        )
        self._send(begin)
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise ScoringError(f"Inspect did not start within {START_S:.0f} s.") from error
        told = strict_json.loads_with_gaps(line or b"{}")
        if "error" in told:
            said = clean(_MARKUP.sub("", told["error"]["says"])).removeprefix("ERROR: ")
            raise ScoringError(
                f"Inspect cannot open {begin['model']}: {said.rstrip('.')}. Keys come from the environment of the site and of its "
                "workers, and packages of providers belong to the same Python as Inspect."
            )
        if not told:
            raise ScoringError(
                f"{self._python} does not have Inspect. `make inspect` installs it, or INSPECT_PYTHON names a Python that has it."
            )
        self._reader = asyncio.create_task(self._read(self._process.stdout))
        return str(told["inspect_ai"])

    async def ask(self, question: Mapping[str, Any]) -> Any:
        """The line that the process answers with.

        Raises:
            ScoringError: it has ended.
        """
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            if self._reader is None or self._reader.done():
                raise _ended()
            self._send({"id": number, **question})
            return await self._waiting[number]
        finally:
            del self._waiting[number]

    async def stop(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def _send(self, line: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    async def _read(self, lines: asyncio.StreamReader) -> None:
        try:
            while line := await lines.readline():
                told = strict_json.loads_with_gaps(line)
                waiting = self._waiting.get(told["id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(told)
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(_ended())


def _ended() -> ScoringError:
    return ScoringError("Inspect's process has ended. Continue the run to ask what is left.")


def find_python() -> Path:
    """The Python that has Inspect.

    Raises:
        ScoringError: there is none; the sentence says what installs it.
    """
    path = Path(inspect_python())
    if not path.is_file():
        raise ScoringError(
            "Inspect is not installed for this site. `make inspect` installs it, or INSPECT_PYTHON names a Python that has it."
        )
    return path


def passed_on(environment: Mapping[str, str], provider: str) -> dict[str, str]:
    """The part of the environment that Inspect's process has: no proxies, and no keys but the provider's; "" for none.

    >>> given = {"PATH": "/bin", "OPENAI_API_KEY": "a", "MISTRAL_API_KEY": "b", "AZUREAI_OPENAI_API_KEY": "c", "HTTPS_PROXY": "d"}
    >>> sorted(passed_on(given, "openai")), sorted(passed_on(given, "openai/azure")), sorted(passed_on(given, ""))
    (['OPENAI_API_KEY', 'PATH'], ['AZUREAI_OPENAI_API_KEY', 'PATH'], ['PATH'])
    """
    name = provider.rpartition("/")[2]
    prefixes = VARIABLES.get(name, (f"{name.upper().replace('-', '_')}_",) if name else ())
    return {n: v for n, v in environment.items() if n in PASSED_ON or n.startswith(prefixes)}


def read_output(
    output: Mapping[str, Any], seconds: float, request: Mapping[str, Any], marks: Marks
) -> Generated:
    """An answer of Inspect's, its thought apart.

    >>> message = {"content": [{"type": "reasoning", "reasoning": "Is it?"}, {"type": "text", "text": "Yes."}]}
    >>> usage = {"input_tokens": 5, "output_tokens": 4, "input_tokens_cache_read": 20, "reasoning_tokens": 3}
    >>> told = {"choices": [{"message": message, "stop_reason": "stop"}], "usage": usage}
    >>> answer = read_output(told, 0.5, {}, Marks())
    >>> answer.text, answer.thought, answer.usage.prompt_tokens, answer.usage.thought_tokens
    ('Yes.', 'Is it?', 25, 3)
    """
    choice: Mapping[str, Any] = next(iter(output.get("choices") or ()), {})
    content = choice.get("message", {}).get("content", "")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = storable("".join(p.get("text", "") for p in parts if p.get("type") == "text"))
    thoughts = [p for p in parts if p.get("type") == "reasoning"]
    thought = "".join(
        p.get("summary") or ""
        if p.get("redacted")
        else p.get("reasoning") or p.get("summary") or ""
        for p in thoughts
    )
    reason, usage = choice.get("stop_reason", ""), _usage(output.get("usage"))
    finish = FINISHES.get(reason, Finish.STOP)
    if any(p.get("refusal") for p in parts) and finish == Finish.STOP:
        finish = Finish.REFUSED
    detail = text if finish == Finish.REFUSED else ""
    if usage is None and reason in ("model_length", "content_filter"):
        # Inspect's words, or the provider's, for a request that was not read
        finish = Finish.TOO_LONG if reason == "model_length" else Finish.FILTERED
        text, detail, usage = "", text, Usage()
    detail = clean(detail or str((choice.get("stop_details") or {}).get("explanation") or ""))
    own = apart(text, finish, marks, thought=storable(thought))
    kept = {n: v for n, v in choice.items() if n != "logprobs"}
    return Generated(
        text="" if finish == Finish.REFUSED else own.text,
        finish=own.finish,
        usage=usage,
        seconds=seconds,
        model=clean(str(output.get("model", "")), 200),
        detail=detail,
        request=request,
        raw=storable_json({**output, "choices": [kept]}),
        thought=own.thought,
        tokens=read_tokens(choice.get("logprobs")),
    )


def _usage(told: Any) -> Usage | None:
    """Tokens read, from a provider's cache or not, and written; None where it does not say."""
    if not isinstance(told, dict) or not (told.get("input_tokens") or told.get("output_tokens")):
        return None
    counts = [told.get(name) or 0 for name in COUNTS]
    # What was spent is added up from them: a negative one would have a limit never reached
    if not all(type(n) is int and 0 <= n < MOST_TOKENS for n in counts):
        return None
    *read, written, thought = counts
    return Usage(sum(read), written, thought)
