"""Opens models by kind and arguments. Loads torch only when one is opened that needs it; knows no database."""

from collections.abc import Mapping

from scoring.backends.http.address import allowed_address, allowed_provider, parse_address
from scoring.backends.reading import Reading, read_so, without_reading
from scoring.backends.registry import SCORERS, WRITERS, Place, Way, kind_of, known_kind, place_of
from scoring.domain.backend import Backend
from scoring.domain.generating import Generator


def open_backend(kind: str, args: Mapping[str, str]) -> Backend:
    """Load the model, or reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    check_model_args(kind, args)
    check_server(kind, args)
    return read_so(_scoring(kind).open(without_reading(args)), Reading.of(args))


def check_model_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse arguments that no model of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    way = _scoring(kind)
    Reading.of(args)
    way.check(without_reading(args))


def open_generator(kind: str, args: Mapping[str, str]) -> Generator:
    """Load the model, or make ready to reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    check_generator_args(kind, args)
    check_server(kind, args)
    return _writing(kind).open(args)


def check_generator_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse what no generator of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    _writing(kind).check(args)


def check_server(kind: str, args: Mapping[str, str]) -> None:
    """Refuse a server to which this site may not send texts; a model in this process sends them nowhere.

    Raises:
        ScoringError: it is not among SCORING_HOSTS, or its address is none.
    """
    found = kind_of(kind)
    if found is None or found.place != Place.SERVER:
        return
    if found.provider and not args.get("base_url"):
        allowed_provider(found.provider(args))
    else:
        allowed_address(args.get("base_url", ""))


def stays_here(kind: str, args: Mapping[str, str]) -> bool:
    """True if texts are sent to no other machine."""
    if place_of(kind) != Place.SERVER:
        return True
    return bool(args.get("base_url")) and parse_address(args["base_url"]).is_here


def _scoring(kind: str) -> Way[Backend]:
    way = known_kind(kind, SCORERS, "backend").scores
    assert way is not None
    return way


def _writing(kind: str) -> Way[Generator]:
    way = known_kind(kind, WRITERS, "generator").writes
    assert way is not None
    return way
