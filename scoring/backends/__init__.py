"""The ways to score texts: their kinds and arguments. Imports none of them."""

from scoring.domain.backend import ScoringError

# The command's names (lm-evaluation-harness's) -> ours
ALIASES = {"hf": "transformers"}
KINDS = ("transformers", "completions", "embedded")

# Arguments that say which model it is; the embedded one takes none of them
WHICH_MODEL_ARGS = ("pretrained", "revision", "peft", "tokenizer", "quantization")
# `rung` is the older name of `strategy`
EMBEDDED_ARGS = ("dtype", "device", "device_map", "attn", "strategy", "rung")
TRANSFORMERS_ARGS = (*WHICH_MODEL_ARGS, *EMBEDDED_ARGS)


def parse_model_args(text: str) -> dict[str, str]:
    """Read `name=value,name=value`, as lm-evaluation-harness writes a model's arguments.

    Raises:
        ScoringError: a part has no name or no value, or a name comes twice.

    >>> parse_model_args("pretrained=models/tiny,dtype=float32")
    {'pretrained': 'models/tiny', 'dtype': 'float32'}
    """
    args: dict[str, str] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise ScoringError(
                f"“{part.strip()}” is not written as name=value.", option="--model_args"
            )
        if name in args:
            raise ScoringError(f"{name} is given twice.", option="--model_args")
        args[name] = value
    return args
