"""How many tokens a model takes, whatever its configuration calls it."""

import re
from collections.abc import Iterator

from torch import nn
from transformers import PreTrainedModel

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
    return min([*limits, *_tables(model)], default=None)


def _tables(model: PreTrainedModel) -> Iterator[int]:
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if not isinstance(module, nn.Embedding) or OTHER_SENSES.search(name):
            continue
        if "position" in last or last == "wpe":
            padding = module.padding_idx
            yield module.num_embeddings - (0 if padding is None else padding + 1)
