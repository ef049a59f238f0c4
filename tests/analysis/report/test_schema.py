"""report.schema.json: current, and reports are valid by it."""

import json

import jsonschema

from analysis.data.filters import ReportOptions
from analysis.management.commands.write_report_schema import PATH
from analysis.report.report import json_schema
from tests.analysis import results_stub


def test_the_schema_of_a_report_is_current():
    assert json.loads(PATH.read_text("utf-8")) == json_schema(), (
        "run: manage.py write_report_schema"
    )


def test_a_report_is_valid_by_its_schema():
    schema = json_schema()
    report = results_stub.report(None, ReportOptions()).to_json()
    jsonschema.validate(report, schema)
    assert schema["$defs"]["PairedTest"]["properties"]["p"] == {"type": ["number", "null"]}
