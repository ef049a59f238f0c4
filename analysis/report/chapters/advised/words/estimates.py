"""How the chapter's sentences write an estimate."""

from dataclasses import replace

from analysis.stats.reliance.trials import Estimate
from lib import formatting as f

CLUSTERED = "95% intervals clustered by participants and test cases."  # of figures


def share_of(found: Estimate) -> str:
    """A share with its interval."""
    return f.with_interval(f.percent(found.value), f.share_interval(found.ci95))


def points_of(difference: Estimate, p_holm: float | None = None) -> str:
    """A difference of shares in points, with what is known of it in brackets."""
    return f"{f.points(difference.value)} points{brackets_of(difference, p_holm)}"


def described(difference: Estimate) -> str:
    """The same of a difference that no test of the chapter is about."""
    return points_of(replace(difference, p=None))


def brackets_of(difference: Estimate, p_holm: float | None = None) -> str:
    """Interval and p of a difference of shares, in brackets after a blank; "" where there is neither."""
    parts = []
    if difference.ci95 is not None:
        parts.append(f"95% CI {f.points_interval(difference.ci95)}")
    if difference.p is not None:
        parts.append(f.p_value(difference.p))
    if p_holm is not None:
        parts.append(f"after Holm {f.p_value(p_holm)}")
    return f" ({'; '.join(parts)})" if parts else ""
