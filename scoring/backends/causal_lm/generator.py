"""Has a causal language model write in this process, through its chat template."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import GenerationConfig

from scoring.backends import placed
from scoring.backends.causal_lm.backend import described, installed_kernels, is_out_of_memory
from scoring.backends.causal_lm.loading import context_tokens, load, quiet
from scoring.backends.options import WRITING, read_writing
from scoring.backends.reading import Reading
from scoring.backends.tokenizers import load_tokenizer, source_of, tokenizer_hash
from scoring.domain.backend import PAIRS_PER_SLICE, ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage, storable
from scoring.domain.prompts import applied
from scoring.domain.thinking import Marks, apart

BATCH = 8  # conversations
NOT_LOADING = (*WRITING, "batch_size")
OF_MARK = 16  # tokens of a prompt's end that may hold the opening tag of a thought


class TransformersGenerator:
    """A model in this process. `args`: pretrained, dtype, device, ..., max_tokens, temperature, top_p, seed, batch_size."""

    kind = "hf"
    concurrency = 1  # one model, one thread

    def __init__(self, args: Mapping[str, str]) -> None:
        self.writing = read_writing(args)
        self.max_tokens = self.writing.max_tokens
        # What is drawn by chance would depend on what else is drawn
        chosen = min(Reading.of(args).batch_size or BATCH, PAIRS_PER_SLICE)
        self.batch = 1 if self.writing.temperature else chosen
        loading = placed({name: args[name] for name in args if name not in NOT_LOADING})
        self.tokenizer: Any = load_tokenizer(*source_of(args))
        self.check_template()
        end = self.writing.think_end_token or ""
        self.marks = Marks(self.tokenizer.decode([int(end)]) if end.isdigit() else end)
        # Special tokens are no text, but for those around a thought
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        special = {*self.tokenizer.all_special_ids, *(i for i in added if added[i].special)}
        self.unseen = {i for i in special if not self.marks.has(self.tokenizer.decode([i]))}
        loaded = load(loading)
        self.model: Any = loaded.model
        self.provenance = loaded.provenance
        # generation_config.json says which tokens end an answer; its penalties, forced tokens and draws are not asked for
        self.model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            eos_token_id=self.model.generation_config.eos_token_id
        )
        self.window = context_tokens(self.model)

    def check_template(self) -> None:
        """Raises ScoringError where messages cannot be written as this model knows them."""
        if not getattr(self.tokenizer, "chat_template", None):
            raise ScoringError(
                "This model does not have a chat template, so it cannot receive instructions."
            )

    def identity(self) -> dict[str, Any]:
        """Everything that decides the answers; of the model and its tokenizer, what scoring names too."""
        return {
            "generator": self.kind,
            **self.provenance,
            **described(self.model),
            "tokenizer_sha256": tokenizer_hash(self.tokenizer),
            "kernels": installed_kernels(),
            **self.writing.as_dict(),
        }

    def generate(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        *,
        sample: int = 0,
        wants_tokens: bool = False,
    ) -> Generated:
        """As `Generator.generate`; without a temperature, the likeliest token each time. Holds to no schema, and gives no tokens."""
        return self._generated([messages], sample)[0]

    def generate_many(self, conversations: Sequence[Sequence[Message]]) -> list[Generated]:
        """As `BatchGenerator.generate_many`; conversations with as much room for an answer are written at once."""
        return self._generated(conversations, 0)

    def _generated(
        self, conversations: Sequence[Sequence[Message]], sample: int
    ) -> list[Generated]:
        began = time.monotonic()
        prompts = [self.prompt_ids(messages) for messages in conversations]
        rooms = [self._room(ids) for ids in prompts]
        written: dict[int, list[int]] = {}
        for room in {room for room in rooms if room > 0}:
            places = [n for n, other in enumerate(rooms) if other == room]
            many = self._written_many([prompts[n] for n in places], room, sample)
            written |= dict(zip(places, many, strict=True))
        seconds = (time.monotonic() - began) / len(prompts)
        answers = []
        for n, ids in enumerate(prompts):
            if n not in written:
                detail = f"{len(ids):,} tokens, but the model's window has {self.window:,}"
                too_long = Generated("", Finish.TOO_LONG, Usage(), seconds, detail=detail)
                answers.append(too_long)
                continue
            is_over = bool(written[n]) and written[n][-1] in _ends(self.model)
            begun = self.marks.begun_in(self._decoded(ids[-OF_MARK:]))
            finish = Finish.STOP if is_over else Finish.LENGTH
            said = apart(storable(self._decoded(written[n])), finish, self.marks, begun=begun)
            answer = Generated(
                *(said.text, said.finish, Usage(len(ids), len(written[n])), seconds),
                request=self.writing.as_dict(),
                thought=said.thought,
            )
            answers.append(answer)
        return answers

    def _room(self, ids: Sequence[int]) -> int:
        """Tokens that an answer may have; 0 or less where the model's window is full."""
        return min(
            self.max_tokens, self.max_tokens if self.window is None else self.window - len(ids)
        )

    def _decoded(self, ids: Sequence[int]) -> str:
        """Without the tokens that are no text; those around a thought are seen."""
        kept = [i for i in ids if i not in self.unseen]
        text: str = self.tokenizer.decode(
            kept, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The messages in the model's own form; some know no system's turn, whose words then begin the first one.

        Raises:
            ScoringError: its template cannot write them.
        """
        try:
            return self._templated(messages)
        except TemplateError as error:
            first, *others = messages
            if first.role == "system" and others:
                joined = Message(others[0].role, f"{first.content}\n\n{others[0].content}")
                with suppress(TemplateError):
                    return self._templated([joined, *others[1:]])
            raise ScoringError("The model's chat template cannot write these messages.") from error

    def _templated(self, messages: Sequence[Message]) -> list[int]:
        turns = [{"role": m.role, "content": m.content} for m in messages]
        how = self.writing.template_arguments
        if self.writing.reasoning_effort:
            how["reasoning_effort"] = self.writing.reasoning_effort
        text = applied(self.tokenizer, turns, add_generation_prompt=True, **how)
        # The template has written the special tokens
        return [int(i) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _written_many(
        self, prompts: Sequence[Sequence[int]], most: int, sample: int
    ) -> list[list[int]]:
        """The tokens that follow each prompt, up to its end; where memory runs out, fewer at once from then on.

        Raises:
            ScoringError: memory does not hold one of them.
        """
        done: list[list[int]] = []
        while left := prompts[len(done) :]:
            group = left[: max(self.batch, 1)]
            try:
                done += self._written(group, most, sample)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if len(group) == 1:
                    raise ScoringError(f"Memory ran out over {len(group[0]):,} tokens.") from error
                self.batch = len(group) // 2
        return done

    def _written(self, prompts: Sequence[Sequence[int]], most: int, sample: int) -> list[list[int]]:
        drawn = bool(self.writing.temperature)
        how: dict[str, Any] = {"do_sample": drawn, "max_new_tokens": most, "num_beams": 1}
        if drawn:
            top_p = self.writing.top_p or 1.0
            how |= {"temperature": self.writing.temperature, "top_p": top_p, "top_k": 0}
        ends = sorted(_ends(self.model))
        pad, longest = (ends[0] if ends else 0), max(len(ids) for ids in prompts)
        before = [longest - len(ids) for ids in prompts]
        rows = [[pad] * n + list(ids) for n, ids in zip(before, prompts, strict=True)]
        seen = [[0] * n + [1] * (longest - n) for n in before]
        prompt = torch.tensor(rows, device=self.model.device)
        devices = [self.model.device] if self.model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices), quiet():
            torch.manual_seed((self.writing.seed or 0) + sample)
            mask = torch.tensor(seen, device=self.model.device)
            whole = self.model.generate(prompt, attention_mask=mask, pad_token_id=pad, **how)
        return [_to_end(row, set(ends)) for row in whole[:, longest:].tolist()]

    def close(self) -> None:
        self.__dict__.pop("model", None)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _to_end(ids: list[int], ends: set[int]) -> list[int]:
    """Up to the first token that ends an answer; others of a batch may have gone on.

    >>> _to_end([5, 6, 0, 0, 0], {0})
    [5, 6, 0]
    """
    n = next((n for n, token in enumerate(ids) if token in ends), len(ids))
    return ids[: n + 1]


def _ends(model: Any) -> set[int]:
    """Tokens that end an answer."""
    ends = model.generation_config.eos_token_id
    if ends is None:
        return set()
    return set(ends) if isinstance(ends, list | tuple) else {int(ends)}
