"""How analysis.codec writes a field whose key differs: constants, as type checkers take calls for default values."""

from collections.abc import Mapping
from typing import Any

FLATTENED: Mapping[str, Any] = {"flatten": True, "renames": {}}
FLATTENED_MODEL: Mapping[str, Any] = {"flatten": True, "renames": {"team": "model"}}
LEFT_OUT: Mapping[str, Any] = {"omit_none": True}
