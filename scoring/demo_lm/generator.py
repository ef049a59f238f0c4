"""The demonstration model as a generator: shows that everything is in place. It writes no test case worth reading."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.demo_lm.manifest import verify
from scoring.domain.generating import Message

MOST_TOKENS = 64


class EmbeddedGenerator(TransformersGenerator):
    """Goes on after the messages' last words, as many as fit: it has no chat template and a small window."""

    kind = "embedded"

    def __init__(self, args: Mapping[str, str]) -> None:
        verify(MODEL_FOLDER)
        super().__init__({"max_tokens": str(MOST_TOKENS), **args, "pretrained": str(MODEL_FOLDER)})

    def check_template(self) -> None:
        """It has none, and does without."""

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "model": NAME}

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        text = "\n\n".join(message.content for message in messages)
        ids = [int(i) for i in self.tokenizer(text)["input_ids"]]
        room = (self.window or len(ids) + self.max_tokens) - self.max_tokens
        return ids[-max(room, 1) :]
