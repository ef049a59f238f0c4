"""Loads a causal language model, and an adapter onto it, or says in one sentence why not."""

import json
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as hf_logging
from transformers.utils.peft_utils import find_adapter_config_file

from scoring.backends.causal_lm import arguments, weights
from scoring.backends.tokenizers import hub_has
from scoring.domain.backend import ScoringError

NUMBER = re.compile(r"\d+")
# transformers looks for adapters where none is, and so applies none
NO_ADAPTER = {"subfolder": "no-adapter"}


@dataclass(frozen=True)
class Loaded:
    """A model ready to score with, and where it came from."""

    model: PreTrainedModel
    provenance: dict[str, Any] = field(default_factory=dict)


def load(args: Mapping[str, str]) -> Loaded:
    """Load the model that the arguments name, in evaluation mode.

    Raises:
        ScoringError: an argument is unknown or wrong, or the model cannot be read whole.
    """
    name = arguments.checked(args)
    dtype = arguments.dtype_of(args)
    folder = Path(name)
    if folder.is_dir():
        weights.check_folder(folder)
    elif folder.exists():
        raise ScoringError(f"{name} is a file: name the folder that holds the model.")
    provenance: dict[str, Any] = {
        "model": name,
        "dtype": args.get("dtype", "float32"),
    }
    # transformers alone would ask for most of a minute for what is not there
    stored_only = not folder.is_dir() and not hub_has(name, args.get("revision"), "model")
    with quiet(), _one_sentence(name, folder):
        if "peft" not in args and "adapter" not in args:
            _refuse_adapter(name, args.get("revision"), stored_only)
        config = AutoConfig.from_pretrained(
            name,
            revision=args.get("revision"),
            trust_remote_code=False,
            local_files_only=stored_only,
        )
        if config.is_encoder_decoder:
            raise ScoringError(
                f"{name} is an encoder-decoder: only causal language models are scored."
            )
        arguments.set_attention(config, args)
        provenance["quantization"] = arguments.quantization(config, args)
        # With output_loading_info it is a pair, which the library's types do not say
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            name,
            revision=args.get("revision"),
            config=config,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # so that they come back as a list, and are refused below
            local_files_only=stored_only,
            adapter_kwargs=NO_ADAPTER,
            **arguments.placement(args),
        )
        model: PreTrainedModel = loaded[0]
        info: Mapping[str, Any] = loaded[1]
        if "device_map" not in args and "quantization" not in args:
            device = args.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
            model.to(device)  # type: ignore[arg-type]
    _check_whole(name, model, info)
    _check_tied(name, model)
    if dtype == torch.float64:
        model.to(torch.float64)  # type: ignore[arg-type]  # what an architecture keeps in float32, too
    if dtype == arguments.AUTO:
        provenance["dtype"] = str(model.dtype).removeprefix("torch.")
    provenance["weights_unused"] = sorted(info.get("unexpected_keys", ()))
    provenance["config_sha256"] = weights.config_sha256(config.to_dict())
    provenance["revision"] = getattr(model.config, "_commit_hash", None) or args.get("revision", "")
    provenance["weights_sha256"] = weights.weights_sha256(_folder_of(name, model))
    if "peft" in args:
        model = _with_adapter(model, args["peft"])
        provenance["adapter"] = args["peft"]
        provenance["adapter_sha256"] = weights.weights_sha256(Path(args["peft"]), "adapter")
        settings = json.loads((Path(args["peft"]) / weights.ADAPTER_CONFIG).read_text())
        provenance["adapter_config_sha256"] = weights.config_sha256(settings)
        dtypes = {p.dtype for name, p in model.named_parameters() if "lora_" in name} - {
            model.dtype
        }
        if dtypes:  # peft keeps it in float32 beside a model in half precision
            provenance["adapter_dtype"] = str(dtypes.pop()).removeprefix("torch.")
    model.eval()  # type: ignore[no-untyped-call]
    return Loaded(model, provenance)


def _refuse_adapter(name: str, revision: str | None, stored_only: bool) -> None:
    """Raises ScoringError where transformers would find an adapter beside the model, here or on the hub."""
    found = find_adapter_config_file(name, revision=revision, local_files_only=stored_only)
    if found is not None:
        named = f"peft={name}" if Path(name).is_dir() else "peft=FOLDER (the adapter, downloaded)"
        raise ScoringError(
            f"{name} holds an adapter ({weights.ADAPTER_CONFIG}) beside full weights: {named} loads both, "
            f"adapter={arguments.IGNORE} the weights alone."
        )


def _check_tied(name: str, model: PreTrainedModel) -> None:
    """An output layer that is stored beside the embeddings that it is to be: transformers would only print which it takes."""
    output: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    embeddings: Any = model.get_input_embeddings()
    first, second = getattr(output, "weight", None), getattr(embeddings, "weight", None)
    tied = model._tied_weights_keys and model.config.get_text_config().tie_word_embeddings
    if not tied or first is None or second is None or first is second or first.is_meta:
        return
    if first.shape == second.shape and not torch.equal(first.to(second.device), second):
        raise ScoringError(
            f"{name}: its configuration ties its output layer to its embeddings, and its files hold two that differ. "
            "Set tie_word_embeddings in its config.json to what the model was trained with."
        )


def _check_whole(name: str, model: PreTrainedModel, info: Mapping[str, Any]) -> None:
    """Weights that a file lacks would be drawn at random, layers that it has too many be passed over: nonsense both."""
    missing = sorted(info.get("missing_keys", ()))
    mismatched = sorted(str(key[0]) for key in info.get("mismatched_keys", ()))
    if missing or mismatched:
        first = (missing or mismatched)[0]
        n = len(missing) + len(mismatched)
        raise ScoringError(
            f"{name}: {n} weights are missing from its files or have another shape than its configuration says "
            f"({first}, for one)."
        )
    # What has no like in the model (a vision tower, say) is another part; a like with another number is a layer too many
    shapes = {NUMBER.sub("#", key) for key in model.state_dict()}
    extra = sorted(k for k in info.get("unexpected_keys", ()) if NUMBER.sub("#", k) in shapes)
    if extra:
        raise ScoringError(
            f"{name}: its files hold {len(extra)} weights of layers that its configuration does not have ({extra[0]}, for one)."
        )


def _with_adapter(model: PreTrainedModel, path: str) -> PreTrainedModel:
    """The model with a LoRA-like adapter in it, unmerged.

    Raises:
        ScoringError: the adapter is not there, is of another kind, or does not fit this model.
    """
    from peft import PeftConfig, PeftModel, get_peft_model_state_dict

    folder = Path(path)
    if not folder.is_dir():
        raise ScoringError(f"peft={path}: there is no such folder.")
    weights.check_folder(folder, "adapter")
    with quiet(), _one_sentence(f"the adapter {path}", folder):
        if PeftConfig.from_pretrained(path).is_prompt_learning:
            raise ScoringError(
                f"the adapter {path} puts virtual tokens before the text; adapters of weights (LoRA and alike) are scored."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)  # the libraries' own matter
            warnings.filterwarnings("error", message=".*missing adapter keys.*")
            adapted = PeftModel.from_pretrained(model, path, is_trainable=False)
            known = set(get_peft_model_state_dict(adapted, save_embedding_layers=True))
    left_over = sorted(weights.adapter_tensors(folder) - known)
    if left_over:
        raise ScoringError(
            f"the adapter {path} holds {len(left_over)} weights that have no place in this model ({left_over[0]}, for one)."
        )
    if not any(
        "lora" in name or "adapter" in name or "ia3" in name
        for name, _ in adapted.named_parameters()
    ):
        raise ScoringError(f"the adapter {path} changes nothing in this model.")
    # The model's own class, with the adapter's layers in place: the strategies know that one
    return cast(PreTrainedModel, adapted.base_model.model)


def _folder_of(name: str, model: PreTrainedModel) -> Path:
    """Where the weights lie: the named folder, or the hub's cache of that revision."""
    folder = Path(name)
    if folder.is_dir():
        return folder
    from transformers.utils.hub import cached_file

    config = cached_file(
        name, "config.json", revision=model.config._commit_hash, local_files_only=True
    )
    return Path(str(config)).parent


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars or advice from the library on our terminal; what is wrong is raised, not printed."""
    verbosity = hf_logging.get_verbosity()
    bars = hf_logging.is_progress_bar_enabled()
    hf_logging.set_verbosity(logging.ERROR)
    hf_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        hf_logging.set_verbosity(verbosity)
        if bars:
            hf_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def _one_sentence(name: str, folder: Path) -> Iterator[None]:
    """Any way in which a library fails to read files becomes one sentence."""
    try:
        yield
    except (ScoringError, torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except MemoryError as error:
        raise ScoringError(f"{name} does not fit into memory.") from error
    except Exception as error:
        if not folder.is_dir() and isinstance(error, OSError):
            raise ScoringError(
                f"{name} is no folder here, and neither could be had from the model hub nor is a copy stored."
            ) from error
        if weights.has_custom_code(folder):
            raise ScoringError(
                f"{name} needs Python code of its own (auto_map in its config.json); such code is never run here."
            ) from error
        reason = _reason_line(str(error))
        raise ScoringError(
            f"{name} cannot be loaded ({type(error).__name__}: {reason[:300]})."
        ) from error


def _reason_line(message: str) -> str:
    """The line of a library's message that says what is wrong: of several, the first that names a weight."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "size mismatch" in line), lines[0] if lines else "")
