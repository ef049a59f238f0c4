"""Loads a causal language model, and an adapter onto it, as `--model_args` say, or says in one sentence why not."""

import json
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging as hf_logging
from transformers.utils.hub import cached_file
from transformers.utils.peft_utils import find_adapter_config_file

from scoring.backends import model_files
from scoring.backends.tokenizers import hub_has
from scoring.domain.backend import ScoringError

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
AUTO = "auto"  # what the checkpoint says
QUANTIZATIONS = ("8bit", "4bit")
IGNORE = "ignore"  # an adapter that lies beside full weights


def dtype_of(args: Mapping[str, str]) -> torch.dtype | str:
    """The precision to load weights in: torch's, or "auto" for what the checkpoint says."""
    return DTYPES.get(args.get("dtype", "float32"), AUTO)


def checked(args: Mapping[str, str]) -> str:
    """The model that the arguments name.

    Raises:
        ScoringError: an argument is wrong, or there is no model's name.
    """
    if not args.get("pretrained"):
        raise ScoringError("--model_args must name the model: pretrained=PATH.")
    for name, choices in (
        ("dtype", (*DTYPES, AUTO)),
        ("quantization", QUANTIZATIONS),
        ("adapter", (IGNORE,)),
    ):
        if name in args and args[name] not in choices:
            raise ScoringError(
                f"--model_args: {name}={args[name]}: choose one of {', '.join(choices)}."
            )
    return args["pretrained"]


def set_attention(config: PreTrainedConfig, args: Mapping[str, str]) -> None:
    """Take the attention that is asked for, or transformers' own choice, of experts too; never what a configuration names.

    Raises:
        ScoringError: transformers is known to compute it wrong for this model, or it comes from a hub.
    """
    config._attn_implementation = config._experts_implementation = None
    if "/" in args.get("attn", ""):
        raise ScoringError(f"attn={args['attn']}: this site never runs code from a hub.")
    if args.get("attn") == "eager" and config.model_type == "falcon" and config.alibi:
        raise ScoringError(
            f"attn=eager: transformers {version('transformers')} adds ALiBi twice to Falcon's attention. Leave out attn."
        )


def quantization(config: PreTrainedConfig, args: Mapping[str, str]) -> str:
    """How the weights are to be quantized, or are where they are stored; "" where they are not.

    Raises:
        ScoringError: both.
    """
    stored = getattr(config, "quantization_config", None) or {}
    described = stored if isinstance(stored, dict) else stored.to_dict()
    asked = args.get("quantization", "")
    method = str(described.get("quant_method", "unnamed")) if described else ""
    if method and asked:
        raise ScoringError(
            f"quantization={asked}: the weights are already stored quantized ({method}). Leave it out."
        )
    return method or asked


def placement(args: Mapping[str, str]) -> dict[str, Any]:
    """How and where `from_pretrained` is to put the weights.

    Raises:
        ScoringError: a package for it is missing.
    """
    placed: dict[str, Any] = {}
    if dtype_of(args) == torch.float64:  # the grouped kernel for experts has no such precision
        placed["experts_implementation"] = "eager"
    if "attn" in args:
        placed["attn_implementation"] = args["attn"]
    if "device_map" in args:
        placed["device_map"] = args["device_map"]
    if "quantization" in args:
        try:
            version("bitsandbytes")
        except PackageNotFoundError as error:
            raise ScoringError(
                "quantization needs the package bitsandbytes, which is not installed here."
            ) from error
        from transformers import BitsAndBytesConfig

        placed["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_8bit=args["quantization"] == "8bit", load_in_4bit=args["quantization"] == "4bit"
        )
        placed.setdefault("device_map", "auto")
    return placed


# The names of transformers' configurations, several of which may be there
LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions")
OTHER_SENSES = re.compile(r"vision|visual|image|audio|speech")  # their positions are not a text's


def context_tokens(model: PreTrainedModel) -> int | None:
    """The longest text that the model takes, in tokens; None where there is no limit.

    The smallest of what its configuration says and what its tables of learned positions hold: tables that count from
    behind their padding (RoBERTa's) hold fewer than their rows. A limit below 1 (XLNet's -1) is none.
    """
    config = model.config.get_text_config(decoder=True)
    said = (getattr(config, name, None) for name in LIMITS)
    limits = [int(n) for n in said if isinstance(n, int | float) and 1 <= n < 2**53]
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if not isinstance(module, nn.Embedding) or OTHER_SENSES.search(name):
            continue
        if "position" in last or last == "wpe":
            padding = module.padding_idx
            limits.append(module.num_embeddings - (0 if padding is None else padding + 1))
    return min(limits, default=None)


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
        ScoringError: an argument is wrong, or the model cannot be read whole.
    """
    name = checked(args)
    dtype = dtype_of(args)
    folder = Path(name)
    if folder.is_dir():
        model_files.check_folder(folder)
    elif folder.exists():
        raise ScoringError(f"{name} is a file. Name the folder of the model.")
    provenance: dict[str, Any] = {
        "model": name,
        "dtype": args.get("dtype", "float32"),
    }
    # transformers alone would ask for most of a minute for what is not there
    stored_only = not folder.is_dir() and not hub_has(name, args.get("revision"), "model")
    with quiet(), _one_sentence(name, folder):
        config = _readable_config(name, args, stored_only)
        set_attention(config, args)
        provenance["quantization"] = quantization(config, args)
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
            **placement(args),
        )
        model: PreTrainedModel = loaded[0]
        info: Mapping[str, Any] = loaded[1]
        if "device_map" not in args and "quantization" not in args:
            device = args.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
            model.to(device)  # type: ignore[arg-type]
    _check_weights(name, model, info)
    if dtype == torch.float64:
        model.to(torch.float64)  # what an architecture keeps in float32, too
    if dtype == AUTO:
        provenance["dtype"] = str(model.dtype).removeprefix("torch.")
    provenance["weights_unused"] = sorted(info.get("unexpected_keys", ()))
    provenance["config_sha256"] = model_files.config_sha256(config.to_dict())
    provenance["revision"] = getattr(model.config, "_commit_hash", None) or args.get("revision", "")
    weights = folder
    if not folder.is_dir():  # the hub's cache of that revision
        commit = model.config._commit_hash
        file = cached_file(name, "config.json", revision=commit, local_files_only=True)
        weights = Path(str(file)).parent
    provenance |= model_files.weights_read(weights)
    provenance["weights_sha256"] = model_files.weights_sha256(weights)
    if "peft" in args:
        own = set(model.parameters())
        model = _with_adapter(model, args["peft"])
        provenance["adapter"] = args["peft"]
        provenance["adapter_sha256"] = model_files.weights_sha256(Path(args["peft"]), "adapter")
        settings = json.loads((Path(args["peft"]) / model_files.ADAPTER_CONFIG).read_text())
        provenance["adapter_config_sha256"] = model_files.config_sha256(settings)
        dtypes = {p.dtype for p in model.parameters() if p not in own} - {model.dtype}
        if dtypes:  # peft keeps it in float32 beside a model in half precision
            names = sorted(str(dtype).removeprefix("torch.") for dtype in dtypes)
            provenance["adapter_dtype"] = ", ".join(names)
    model.eval()  # type: ignore[no-untyped-call]
    return Loaded(model, provenance)


def _readable_config(name: str, args: Mapping[str, str], stored_only: bool) -> PreTrainedConfig:
    """The configuration of a causal model whose weights are those that its files usually have.

    Raises:
        ScoringError: it is another kind of model, or there is an adapter of which nothing was said.
    """
    revision = args.get("revision")
    if "peft" not in args and "adapter" not in args:
        # transformers would find it, here or on the hub, and apply it
        found = find_adapter_config_file(name, revision=revision, local_files_only=stored_only)
        if found is not None:
            here = Path(name).is_dir()
            named = f"peft={name}" if here else "peft=FOLDER (the adapter, downloaded)"
            raise ScoringError(
                f"{name} contains an adapter ({model_files.ADAPTER_CONFIG}) and full weights. {named} loads both, and "
                f"adapter={IGNORE} only the weights."
            )
    config: PreTrainedConfig = AutoConfig.from_pretrained(
        name, revision=revision, trust_remote_code=False, local_files_only=stored_only
    )
    if config.is_encoder_decoder:
        raise ScoringError(
            f"{name} is an encoder-decoder. Only causal language models can be scored."
        )
    if file := getattr(config, "transformers_weights", None):
        raise ScoringError(
            f"{name}: its config.json names a file of weights ({file}), which other programs ignore. Rename that file to "
            f"{model_files.SINGLE} in a separate folder, and remove the name."
        )
    return config


def _check_weights(name: str, model: PreTrainedModel, info: Mapping[str, Any]) -> None:
    """Refuse files that do not hold the weights of their configuration, no more and no fewer.

    Raises:
        ScoringError: in one sentence, with an example.
    """
    # They would be drawn at random
    missing = sorted(info.get("missing_keys", ()))
    mismatched = sorted(str(key[0]) for key in info.get("mismatched_keys", ()))
    if missing or mismatched:
        first = (missing or mismatched)[0]
        n = len(missing) + len(mismatched)
        raise ScoringError(
            f"{name}: {n} weights are missing from its files or differ in shape from its configuration (for example "
            f"{first})."
        )
    # What has no like in the model (a vision tower, say) is another part; a like with another number is a layer too many
    shapes = {NUMBER.sub("#", key) for key in model.state_dict()}
    extra = sorted(k for k in info.get("unexpected_keys", ()) if NUMBER.sub("#", k) in shapes)
    if extra:
        raise ScoringError(
            f"{name}: its files contain {len(extra)} weights of layers that its configuration does not have (for example "
            f"{extra[0]})."
        )
    # Of an output layer that is stored beside the embeddings that it is to be, transformers would only print which it takes
    output: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    embeddings: Any = model.get_input_embeddings()
    first_weight, second = getattr(output, "weight", None), getattr(embeddings, "weight", None)
    tied = model._tied_weights_keys and model.config.get_text_config().tie_word_embeddings
    if not tied or first_weight is None or second is None or first_weight is second:
        return
    if first_weight.is_meta or first_weight.shape != second.shape:
        return
    if not torch.equal(first_weight.to(second.device), second):
        raise ScoringError(
            f"{name}: its configuration ties the output layer to the embeddings, but its files contain two that differ. Set "
            "tie_word_embeddings in its config.json as in training."
        )


def _with_adapter(model: PreTrainedModel, path: str) -> PreTrainedModel:
    """The model with a LoRA-like adapter in it, unmerged.

    Raises:
        ScoringError: the adapter is not there, is of another kind, or does not fit this model.
    """
    from peft import PeftConfig, PeftModel, get_peft_model_state_dict

    folder = Path(path)
    if not folder.is_dir():
        raise ScoringError(f"peft={path}: this folder does not exist.")
    model_files.check_folder(folder, "adapter")
    with quiet(), _one_sentence(f"the adapter {path}", folder):
        _fit_vocabulary(model, folder)
        if PeftConfig.from_pretrained(path).is_prompt_learning:
            raise ScoringError(
                f"the adapter {path} puts virtual tokens before the text. Only adapters of weights (such as LoRA) can be scored."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)  # the libraries' own matter
            warnings.filterwarnings("error", message=".*missing adapter keys.*")
            adapted = PeftModel.from_pretrained(model, path, is_trainable=False)
            known = set(get_peft_model_state_dict(adapted, save_embedding_layers=True))
    left_over = sorted(model_files.adapter_shapes(folder).keys() - known)
    if left_over:
        raise ScoringError(
            f"the adapter {path} contains {len(left_over)} weights that do not fit this model (for example {left_over[0]})."
        )
    brought = ("lora", "adapter", "ia3", "trainable_tokens")
    if not any(part in name for name, _ in adapted.named_parameters() for part in brought):
        raise ScoringError(f"the adapter {path} changes nothing in this model.")
    # The model's own class, with the adapter's layers in place: the strategies know that one
    return cast(PreTrainedModel, adapted.base_model.model)


def _fit_vocabulary(model: PreTrainedModel, folder: Path) -> None:
    """Give the model as many tokens as the adapter's own embeddings have: it was trained so, and brings all their rows.

    Raises:
        ScoringError: it brings no rows for one table, in which those that are added would be drawn at random.
    """
    inputs: Any = model.get_input_embeddings()
    output: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    shapes = model_files.adapter_shapes(folder)
    rows: dict[str, set[int]] = {}
    for name, module in model.named_modules():
        if module is inputs or (module is output and output.weight is not inputs.weight):
            own = (key for key in shapes if key.startswith(f"base_model.model.{name}."))
            whole = (key for key in own if key.endswith(".weight") and "lora_" not in key)
            rows[name] = {shapes[key][0] for key in whole}
    found = set().union(*rows.values())
    n = int(inputs.weight.shape[0])
    if len(found) != 1 or found == {n}:
        return
    (wanted,) = found
    lacking = [name for name, own in rows.items() if not own]
    if lacking and wanted > n:
        raise ScoringError(
            f"the adapter {folder} was trained with {wanted:,} tokens, but the model has {n:,}, and {lacking[0]} does not "
            "contain rows for them. Save it again with save_embedding_layers=True."
        )
    model.resize_token_embeddings(wanted, mean_resizing=False)


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
                f"{name} is not a folder. Hugging Face could not provide it, and no copy is stored."
            ) from error
        if model_files.has_custom_code(folder):
            raise ScoringError(
                f"{name} needs its own Python code (auto_map in its config.json), which this site never runs."
            ) from error
        # Of several lines, the first that names a weight
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "size mismatch" in line), "".join(lines[:1]))
        raise ScoringError(
            f"{name} cannot be loaded ({type(error).__name__}: {reason[:300]})."
        ) from error
