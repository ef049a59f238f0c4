"""The browsers that a test runs in: Chromium, unless it says otherwise.

Both: what scripts, input and layout do. The whole way through is walked in Firefox by the strict preset alone, in Chromium by
test_whole_test; what the server alone decides needs one browser. Firefox's turn at what both do is a part of the sweep.
"""

import pytest

both = pytest.mark.parametrize(
    "engine",
    ["browser", pytest.param("firefox", marks=pytest.mark.sweep)],
    indirect=True,
    ids=["Chromium", "Firefox"],
)
firefox = pytest.mark.parametrize("engine", ["firefox"], indirect=True, ids=["Firefox"])
