"""Vectors of a text's tokens in context, from any encoder or decoder in a folder. Knows nothing of what they are for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModel

from scoring.backends.causal_lm.loading import quiet
from scoring.backends.model_files import check_folder, refuse_adapter
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError

LONGEST = 512  # tokens; what follows is left out
POOLER = "pooler"  # sums a text up, and is not asked here


class TokenVectors:
    """A model in a folder (safetensors, no code of its own), for one text at a time."""

    def __init__(self, folder: Path, layer: int | None = None) -> None:
        """layer: of the hidden states, 0 the words without context; None: the last.

        Raises:
            ScoringError: there is no such folder, or what it holds cannot be read whole; there is no such layer.
        """
        if not folder.is_dir():
            raise ScoringError(f"{folder} is not a folder. Name the folder of the model.")
        check_folder(folder)
        refuse_adapter(folder, "move its files (adapter_*) out of the folder, or name another one")
        self._tokenizer = load_tokenizer(str(folder))
        try:
            with quiet():
                self._model, info = AutoModel.from_pretrained(
                    folder,
                    dtype=torch.float32,
                    use_safetensors=True,
                    trust_remote_code=False,
                    local_files_only=True,
                    output_loading_info=True,
                )
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise ScoringError(f"{folder} cannot be loaded ({type(error).__name__}).") from error
        if missing := sorted(key for key in info["missing_keys"] if POOLER not in key):
            raise ScoringError(f"{folder}: weights are missing from its files ({missing[0]}).")
        self._model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        config = self._model.config
        if config.is_encoder_decoder:
            raise ScoringError(f"{folder} is an encoder-decoder. Name an encoder or a decoder.")
        if layer is not None and not 0 <= layer <= config.num_hidden_layers:
            raise ScoringError(f"{folder} has layers 0 to {config.num_hidden_layers}.")
        self._layer = -1 if layer is None else layer
        most = getattr(config, "max_position_embeddings", None) or LONGEST
        self._longest = min(LONGEST, most, self._tokenizer.model_max_length)

    def of(self, texts: Sequence[str]) -> list[npt.NDArray[np.float64]]:
        """(tokens, width) of each text, without the tokens that mark its begin and end."""
        vectors = []
        for text in texts:
            found = self._tokenizer(
                text, truncation=True, max_length=self._longest, return_special_tokens_mask=True
            )
            ids = found["input_ids"]
            if not ids:
                vectors.append(np.empty((0, 0)))
                continue
            with torch.inference_mode():
                ids = torch.tensor([ids], device=self._model.device)
                states = self._model(input_ids=ids, output_hidden_states=True).hidden_states
            own = np.asarray(found["special_tokens_mask"]) == 0
            vectors.append(states[self._layer][0].double().cpu().numpy()[own])
        return vectors
