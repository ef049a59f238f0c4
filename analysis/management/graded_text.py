"""What `graded_metrics` prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.stats.arrays import Interval
from analysis.stats.graded.rates import ClusteredRates, Share
from lib.commands import table_lines
from lib.formatting import DASH

RATES = ("rqr", "sr", "ar")


def values_of(found: ClusteredRates) -> dict[str, Any]:
    """For --json: what is not defined is null."""
    own = found.rates
    values: dict[str, Any] = {
        "n": own.n,
        "n_good": own.n_good,
        "n_abstained": own.n_abstained,
        "n_bad": own.n_bad,
        "n_unparsed": own.n_unparsed,
        "n_clusters": found.rqr.n_clusters,
        "quadrant": own.quadrant,
    }
    for name in RATES:
        share: Share | None = getattr(found, name)
        values[name] = share.value if share else None
        values[f"{name}_ci95"] = share.ci95 if share else None
        values[f"{name}_ci95_method"] = _method(share) if share else None
        values[f"{name}_ci95_wilson"] = share.wilson_ci95 if share else None
        values[f"{name}_ci95_clustered"] = share.clustered_ci95 if share else None
    return values


def lines(models: Mapping[str, ClusteredRates]) -> Iterator[str]:
    """A row for each model, and what its intervals are."""
    rows = [
        {
            "model": name,
            "n": f"{one.rates.n:,}",
            "unparsed": f"{one.rates.n_unparsed:,}",
            "RQR": _cell(one.rqr),
            "SR": _cell(one.sr),
            "AR": _short(one.ar.value),
            "quadrant": one.rates.quadrant or DASH,
        }
        for name, one in models.items()
    ]
    yield from table_lines(rows, left=("model", "RQR", "SR", "quadrant"))
    clustered = [name for name, one in models.items() if one.rqr.is_clustered]
    yield ""
    yield (
        "95% intervals: rows of one template are a cluster."
        if clustered
        else "95% intervals: Wilson's, as if rows were independent."
    )


def _method(share: Share) -> str:
    return "clustered" if share.is_clustered else "wilson"


def _cell(share: Share | None) -> str:
    return f"{_short(share.value)} {_interval(share.ci95)}" if share else DASH


def _interval(ci95: Interval) -> str:
    """Without a space, at which a terminal would break it."""
    return f"[{_short(ci95[0])}{DASH}{_short(ci95[1])}]"


def _short(value: float) -> str:
    """Two digits without the leading zero, as the method's tables have them."""
    return f"{value:.2f}".removeprefix("0")
