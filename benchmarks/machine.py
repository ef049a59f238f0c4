"""The machine that was measured on."""

import os
import platform


def machine() -> str:
    """Without a name of the machine."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
