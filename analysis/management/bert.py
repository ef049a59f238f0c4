"""The model whose vectors BERTScore takes, as commands name it."""

from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from analysis.management.arguments import place

if TYPE_CHECKING:
    from analysis.stats.graded.bert_score import Vectors


def add_bert_arguments(parser: CommandParser, what: str) -> None:
    """--bert_score FOLDER and --layer N; `what` goes before how the model is named."""
    parser.add_argument(
        "--bert_score",
        type=place,
        metavar="FOLDER",
        help=f"{what}, by the encoder or decoder in this folder",
    )
    parser.add_argument(
        "--layer", type=int, metavar="N", help="of that model's hidden states (default: the last)"
    )


def open_vectors(options: dict[str, Any]) -> "Vectors | None":
    """The model that was named, loaded; None without one.

    Raises:
        CommandError: it cannot be loaded, or a layer is named and no model.
    """
    folder, layer = options["bert_score"], options["layer"]
    if folder is None:
        if layer is not None:
            raise CommandError("--layer is one of the model of --bert_score.")
        return None
    # Here: torch takes seconds to load
    from analysis.stats.graded.bert_score import Vectors
    from scoring.backends.causal_lm.weights import weights_sha256
    from scoring.backends.token_vectors import TokenVectors
    from scoring.domain.backend import ScoringError

    try:
        vectors = TokenVectors(folder, layer)
    except ScoringError as error:
        raise CommandError(str(error)) from error
    which = "last layer" if layer is None else f"layer {layer}"
    name = f"{folder.resolve().name} ({which}, weights {weights_sha256(folder)[:12]})"
    return Vectors(name, vectors.of)
