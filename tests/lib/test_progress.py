"""The progress that is shown of work is the one that was measured."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.jobs.progress import SHORTEST_S, progress

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1e5))
def test_remaining_steps_are_expected_to_take_as_long_as_those_done(
    done: int, total: int, elapsed_s: float
) -> None:
    job = SimpleNamespace(done=done, total=total, started_at=BEGAN)
    found = progress(job, BEGAN + timedelta(seconds=elapsed_s))
    assert (found.percent is None) == (total == 0)
    assert found.announced <= (found.percent or 0) <= 100
    if found.left_s is not None:
        assert 0 < done < total
        assert found.left_s / (total - done) == pytest.approx(elapsed_s / done, abs=1e-5)
    else:
        assert done == 0 or done >= total or elapsed_s < SHORTEST_S
