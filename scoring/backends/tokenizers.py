"""Fast Hugging Face tokenizers by folder or by name on the Hub, and a hash over what decides their ids.

Loads transformers only when a tokenizer is asked for. Code that comes with a tokenizer is never run.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.backends.model_files import check_files
from scoring.domain.backend import ScoringError

logger = logging.getLogger(__name__)

HUB_TIMEOUT_S = 10
TOKENIZER = "tokenizer.json"
# What a tokenizer leaves beside an adapter too
PARTS = ("tokenizer_config.json", "added_tokens.json", "tokenizer.model", "vocab.json", "vocab.txt")
# What rules differ about: spaces, numbers, case, accents, ellipses of words, lines
SPECIMENS = (
    "Mice  gained 2012.5 mg; the naïve rats' weights didn't.",
    " ß-Synuclein (WT)\n\nIN VITRO\tЖ 神经元 ﬁne—",
)
# "name" or "owner/name"; all else is meant as a path
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


def load_tokenizer(
    path_or_name: str, revision: str | None = None, *, add_bos_token: bool | None = None
) -> Any:
    """The fast tokenizer in this folder or, where there is no such folder, of this name on the Hub.

    Args:
        path_or_name: a folder with tokenizer.json (or what it can be made from), or `owner/name`.
        revision: branch, tag or commit on the Hub; of no meaning for a folder.
        add_bos_token: whether texts begin with its start token; None: as it does of its own accord.
    Raises:
        ScoringError: there is none, it cannot be read, it cannot say where in a text its tokens are, or it has no start
            token to add.
    """
    if not path_or_name.strip():
        raise ScoringError(
            "No tokenizer was named. Give its folder, or its name on the Hugging Face Hub."
        )
    path = Path(path_or_name).expanduser()
    if path.is_file():
        raise ScoringError(f"{path} is a file. Name the folder of the tokenizer.")
    if path.is_dir():
        check_files(path)
        tokenizer = _load(str(path), f"the tokenizer in {path}", None, local_files_only=True)
    else:
        reachable = hub_has(path_or_name, revision, "tokenizer")
        name = f"the tokenizer {path_or_name}" + (f" at revision {revision}" if revision else "")
        tokenizer = _load(path_or_name, name, revision, local_files_only=not reachable)
    if add_bos_token is not None:
        set_start_token(tokenizer, add_bos_token)
    return tokenizer


def source_of(args: Mapping[str, str]) -> tuple[str, str | None]:
    """The tokenizer that a model is read with, and its revision: the one that is named, the adapter's own, else the model's.

    An adapter was trained with the tokenizer that lies beside it: it may know more tokens, or another chat template.

    Raises:
        ScoringError: beside the adapter lie parts of a tokenizer without the tokenizer.json that would make it whole.
    """
    if named := args.get("tokenizer"):
        return named, args.get("revision")
    adapter, model = args.get("peft", ""), args["pretrained"]
    if adapter and Path(adapter).resolve() != Path(model).resolve():
        if (Path(adapter) / TOKENIZER).is_file():
            return adapter, None
        if parts := [name for name in PARTS if (Path(adapter) / name).is_file()]:
            raise ScoringError(
                f"The adapter in {adapter} has {parts[0]}, but no {TOKENIZER}, so its tokenizer cannot be read. Save "
                f"{TOKENIZER} in the same folder, or name the tokenizer (tokenizer=PATH)."
            )
    return model, args.get("revision")


def set_start_token(tokenizer: Any, wanted: bool) -> None:
    """Let a fast tokenizer begin every text with its start token, or add nothing at all; its hash then is another.

    Raises:
        ScoringError: it has no start token.
    """
    from tokenizers import processors

    if not wanted:
        tokenizer.backend_tokenizer.post_processor = None
        return
    if tokenizer.bos_token is None:
        raise ScoringError("add_bos_token=True: the tokenizer does not have a start token.")
    start = str(tokenizer.bos_token)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=[start, "$A"], special_tokens=[(start, tokenizer.bos_token_id)]
    )


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 (hex) over all that decides a fast tokenizer's ids: rules and vocabulary, special tokens, chat template.

    Padding and truncation are left out: they are a caller's passing wish, and scoring uses neither.
    """
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    rules.pop("padding", None)
    rules.pop("truncation", None)
    # Some have a list of tokens
    special = {
        name: [str(v) for v in value] if isinstance(value, list | tuple) else str(value)
        for name, value in tokenizer.special_tokens_map.items()
    }
    template = getattr(tokenizer, "chat_template", None)
    parts = {"rules": rules, "special_tokens": special, "chat_template": template}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def hub_has(name: str, revision: str | None, what: str) -> bool:
    """True if the Hub has this; False where it cannot be reached, so that only a stored copy can help.

    transformers itself would try for most of a minute, and not distinguish "no such name" from "no network".

    Raises:
        ScoringError: it has not, keeps it private, or the name can only be that of a folder, and there is none.
    """
    if not HUB_NAME.fullmatch(name):
        raise ScoringError(f"There is no folder “{name}” with a {what}.")
    from huggingface_hub import HfApi, errors

    named = f"{name}, revision {revision}," if revision else name
    try:
        HfApi().model_info(name, revision=revision, timeout=HUB_TIMEOUT_S)
    except errors.GatedRepoError as error:
        raise ScoringError(
            f"{named} is on the Hugging Face Hub, but access is restricted. Sign in there, or download it and name its "
            "folder."
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise ScoringError(
            f"There is no folder “{name}”, and the Hugging Face Hub does not have {named} (or it is private)."
        ) from error
    except Exception:  # noqa: BLE001 (whichever of several libraries could not connect)
        return False
    return True


MOST_SAID = 200  # characters of a library's error


def _load(source: str, name: str, revision: str | None, local_files_only: bool) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            source,
            revision=revision or "main",
            local_files_only=local_files_only,
            trust_remote_code=False,
        )
    except Exception as error:  # (readers of many formats, and each raises what it likes)
        raise ScoringError(_why_not(source, name, error, local_files_only)) from error
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):
        # Beside a model's configuration alone, transformers makes an empty one up
        is_folder = Path(source).is_dir()
        raise ScoringError(
            _no_tokenizer(source) if is_folder else f"{_capital(name)} does not have a vocabulary."
        )
    if not (getattr(tokenizer, "is_fast", False) and hasattr(tokenizer, "backend_tokenizer")):
        raise ScoringError(
            f"{_capital(name)} is not a fast tokenizer ({type(tokenizer).__name__}), so it cannot map tokens to characters. "
            "Add a tokenizer.json to its folder."
        )
    _check_rules(tokenizer, source, name, revision)
    return tokenizer


def _check_rules(tokenizer: Any, source: str, name: str, revision: str | None) -> None:
    """Checks that texts are cut as tokenizer.json says: the class that a configuration names may have rules of its own.

    Raises:
        ScoringError: they are cut otherwise.
    """
    from tokenizers import Tokenizer
    from transformers.utils.hub import cached_file

    file = cached_file(
        source,
        TOKENIZER,
        revision=revision or "main",
        local_files_only=True,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    if file is None:
        logger.warning(
            "%s does not have a tokenizer.json, so transformers converted files of an older form.",
            _capital(name),
        )
        return
    rules = Tokenizer.from_file(str(file))
    rules.no_truncation()
    rules.no_padding()
    for text in SPECIMENS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if ids != rules.encode(text, add_special_tokens=False).ids:
            raise ScoringError(
                f"{_capital(name)} is read as a {type(tokenizer).__name__}, which tokenizes differently from its "
                "tokenizer.json. If that file is right, set tokenizer_class to PreTrainedTokenizerFast in its "
                "tokenizer_config.json."
            )


def _why_not(source: str, name: str, error: Exception, local_files_only: bool) -> str:
    said = " ".join(str(error).split())
    if "custom code" in said or "trust_remote_code" in said:
        return f"{_capital(name)} needs its own code, but this site never runs code that comes with a model."
    if Path(source).is_dir():
        if not any(Path(source).glob("*token*")) and not any(Path(source).glob("*vocab*")):
            return _no_tokenizer(source)
    elif local_files_only and isinstance(error, OSError):
        return (
            f"There is no folder “{source}”. It may be a name on the Hugging Face Hub, but the Hub cannot be reached and no "
            "copy is stored. Download the tokenizer and name its folder."
        )
    said = said.rstrip(". ")
    shown = f"{said[:MOST_SAID]}…" if len(said) > MOST_SAID else f"{said}."
    return f"{_capital(name)} cannot be read: {shown}"


def _no_tokenizer(folder: str) -> str:
    return f"The folder {folder} does not contain a tokenizer (tokenizer.json)."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
