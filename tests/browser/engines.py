"""Which browsers a test runs in: Chromium, unless it says otherwise.

Both: what scripts, input and layout do. The whole way through is walked in Firefox by the strict preset alone, in Chromium by
test_whole_test; what the server alone decides needs one browser.
"""

import pytest

both = pytest.mark.parametrize(
    "engine", ["browser", "firefox"], indirect=True, ids=["Chromium", "Firefox"]
)
firefox = pytest.mark.parametrize("engine", ["firefox"], indirect=True, ids=["Firefox"])
