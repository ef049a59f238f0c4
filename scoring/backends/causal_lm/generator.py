"""Has a causal language model write in this process, through its chat template."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jinja2 import TemplateError

from scoring.backends import placed
from scoring.backends.causal_lm.backend import is_out_of_memory
from scoring.backends.causal_lm.loading import load, quiet
from scoring.backends.causal_lm.window import context_tokens
from scoring.backends.chat.options import WRITING, read_writing
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError
from scoring.domain.chat_templates import applied
from scoring.domain.generating import Finish, Generated, Message, Usage, storable


class TransformersGenerator:
    """A model in this process. `args`: pretrained, dtype, device, ..., max_tokens, temperature, top_p, seed."""

    kind = "hf"
    concurrency = 1  # one model, one thread

    def __init__(self, args: Mapping[str, str]) -> None:
        self.writing = read_writing(args)
        self.max_tokens = self.writing.max_tokens
        loading = placed({name: value for name, value in args.items() if name not in WRITING})
        self.tokenizer: Any = load_tokenizer(
            args.get("tokenizer") or args["pretrained"], args.get("revision")
        )
        self.check_template()
        loaded = load(loading)
        self.model: Any = loaded.model
        self.provenance = loaded.provenance
        self.window = context_tokens(self.model)

    def check_template(self) -> None:
        """Raises ScoringError where messages cannot be written as this model knows them."""
        if not getattr(self.tokenizer, "chat_template", None):
            raise ScoringError(
                "This model has no chat template, and so no way to be given instructions."
            )

    def identity(self) -> dict[str, Any]:
        return {"generator": self.kind, **self.provenance, **self.writing.as_dict()}

    def generate(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
    ) -> Generated:
        """As `Generator.generate`; without a temperature, the likeliest token each time. Holds to no schema."""
        began = time.monotonic()
        ids = self.prompt_ids(messages)
        room = self.max_tokens if self.window is None else self.window - len(ids)
        if room < 1:
            detail = f"{len(ids):,} tokens, and the model's window holds {self.window:,}"
            return Generated("", Finish.TOO_LONG, Usage(), time.monotonic() - began, detail=detail)
        written = self._written(ids, min(room, self.max_tokens))
        ends = _ends(self.model)
        is_over = bool(written) and written[-1] in ends
        text = storable(self.tokenizer.decode(written, skip_special_tokens=True))
        finish = Finish.STOP if is_over else Finish.LENGTH
        if finish == Finish.STOP and not text.strip():
            finish = Finish.EMPTY
        return Generated(
            text,
            finish,
            Usage(len(ids), len(written)),
            time.monotonic() - began,
            request=self.writing.as_dict(),
        )

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The messages in the model's own form; some know no system's turn, whose words then begin the first one.

        Raises:
            ScoringError: its template cannot write them.
        """
        try:
            return self._templated(messages)
        except TemplateError:
            first, *others = messages
        if first.role != "system" or not others:
            raise ScoringError("The model's chat template cannot write these messages.")
        joined = Message(others[0].role, f"{first.content}\n\n{others[0].content}")
        try:
            return self._templated([joined, *others[1:]])
        except TemplateError as error:
            raise ScoringError("The model's chat template cannot write these messages.") from error

    def _templated(self, messages: Sequence[Message]) -> list[int]:
        turns = [{"role": m.role, "content": m.content} for m in messages]
        text = applied(self.tokenizer, turns, add_generation_prompt=True)
        # The template has written the special tokens
        return [int(i) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _written(self, ids: Sequence[int], most: int) -> list[int]:
        drawn = bool(self.writing.temperature)
        how: dict[str, Any] = {"do_sample": drawn, "max_new_tokens": most, "num_beams": 1}
        if drawn:
            how |= {"temperature": self.writing.temperature, "top_p": self.writing.top_p or 1.0}
        prompt = torch.tensor([list(ids)], device=self.model.device)
        devices = [self.model.device] if self.model.device.type == "cuda" else []
        ends = sorted(_ends(self.model))
        try:
            with torch.inference_mode(), torch.random.fork_rng(devices), quiet():
                torch.manual_seed(self.writing.seed or 0)
                whole = self.model.generate(
                    prompt,
                    attention_mask=torch.ones_like(prompt),
                    pad_token_id=ends[0] if ends else 0,
                    **how,
                )
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ScoringError(f"Memory ran out over {len(ids):,} tokens.") from error
        return [int(i) for i in whole[0, len(ids) :]]

    def close(self) -> None:
        self.__dict__.pop("model", None)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _ends(model: Any) -> set[int]:
    """Tokens that end an answer."""
    ends = model.generation_config.eos_token_id
    if ends is None:
        return set()
    return set(ends) if isinstance(ends, list | tuple) else {int(ends)}
