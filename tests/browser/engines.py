"""Which browsers a test runs in: Chromium, unless it says both."""

import pytest

both = pytest.mark.parametrize(
    "engine", ["browser", "firefox"], indirect=True, ids=["Chromium", "Firefox"]
)
