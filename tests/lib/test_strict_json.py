"""Numbers in JSON from outside are finite: no database keeps others as JSON, and no page can compare them."""

import ast
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from experiment.domain.questions.made_from import SourceError, read
from experiment.services.file_places import StudyFileError, parse
from lib import strict_json
from lib.api.parameters import Json
from scoring.domain.answer_lines import object_of
from scoring.domain.backend import ScoringError
from scoring.domain.drafting import json_values
from scoring.domain.grading.rubric import Rubric

ROOT = Path(__file__).resolve().parents[2]
NOT_FINITE = ("NaN", "Infinity", "-Infinity", "1e400", "-1E999", "9" * 400 + ".0")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
# What reads files of this site's own programs, or takes nothing from them but texts
OWN = {
    *("config/policies.py", "lib/bounded.py", "lib/backup/manifest.py", "lib/strict_json.py"),
    *("analysis/management/interface/ledger.py", "lib/commands.py", "lib/backup/columns.py"),
    *("experiment/services/withdrawal.py", "experiment/imports/read/rows.py"),
    *("analysis/services/export.py", "analysis/store.py", "analysis/codec.py"),
    *("scoring/backends/completions/asking.py", "scoring/backends/http/errors.py"),
    "scoring/backends/inspect_process.py",
    *("scoring/backends/model_files.py", "scoring/backends/template_process.py"),
    *("scoring/backends/tokenizers.py", "scoring/backends/causal_lm/loading.py"),
    *("scoring/backends/causal_lm/probe.py", "scoring/demo_lm/embedded.py"),
    *("scoring/domain/choosing/reading.py", "scoring/domain/grading/rubric.py"),
    *(
        "scoring/lab/training_page.py",
        "scoring/lm_eval/samples.py",
        "scoring/lm_eval/files/utils.py",
    ),
    *("scoring/services/asking/identity.py", "scoring/services/execute.py"),
    *("scoring/services/grading/runs.py", "scoring/services/training/create.py"),
    *("scoring/services/training/run.py", "lib/files.py", "lib/confined.py"),
    "experiment/services/study_file.py",
}


@given(VALUES)
def test_other_json_is_read_as_by_python(value: Any) -> None:
    assert strict_json.loads(json.dumps(value)) == value


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("around", ["{}", "[1, {}]", '{{"a": {{"b": {}}}}}'])
def test_no_number_is_taken_that_is_none(number: str, around: str) -> None:
    text = around.format(number)
    assert not math.isfinite(float(number))
    with pytest.raises(ValueError, match="is not a number that JSON can keep"):
        strict_json.loads(text)
    assert strict_json.loads_with_gaps(text) == json.loads(around.format("null"))
    with pytest.raises(StudyFileError):
        parse(text.encode())
    with pytest.raises(SourceError):
        read(text)
    with pytest.raises(ValueError, match="JSON"):
        object_of(text)
    with pytest.raises(ScoringError):
        Rubric.from_text(text)
    assert list(json_values(text)) == []


def test_a_number_of_too_many_digits_is_refused_with_the_same_sentence() -> None:
    with pytest.raises(SourceError, match="is not JSON"):
        read('{"row": ' + "9" * 5_000 + "}")


@pytest.mark.parametrize("number", NOT_FINITE)
def test_a_body_of_the_api_is_refused(number: str) -> None:
    with pytest.raises(ParseError, match="is not a number that JSON can keep"):
        Json().parse(io.BytesIO(f'{{"n": {number}}}'.encode()))


def test_nothing_else_reads_json_that_is_sent() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("config", "lib", "experiment", "scoring", "analysis")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.loads", "json.load")
    }
    training = {
        path for path in found if path.startswith("scoring/training/")
    }  # folders of this site
    assert found - training - OWN == set()
