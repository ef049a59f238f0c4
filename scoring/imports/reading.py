"""A directory of published data, read in a process of its own, within limits (lib/confined.py)."""

from pathlib import Path

from experiment.imports.store.published import country_codes
from lib.confined import confined
from scoring.imports.read.everything import Everything, read_everything

SIZE = 50 * 2**20  # bytes; the published data have 10 MB


def everything_in(folder: Path) -> Everything:
    """
    Raises:
        ConfinedError: it takes too much.
    """
    return confined(read_everything, b"", folder, country_codes(), size=SIZE)
