"""The JSON Schema of report.json: one itself, with a key of every chapter, and reports are valid by it."""

from dataclasses import fields

import jsonschema

from analysis.data.filters import ReportOptions
from analysis.report.contents import CHAPTERS
from analysis.report.report import json_schema
from tests.analysis import results_stub


def test_the_schema_is_one_and_has_every_result_of_every_chapter():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    found = {*schema["$defs"]["Source"]["properties"], *schema["$defs"]["OfStudy"]["properties"]}
    results = {field.name for chapter in CHAPTERS for field in fields(chapter.results)}
    assert found == results | {"headline"}


def test_a_report_is_valid_by_its_schema():
    schema = json_schema()
    report = results_stub.report(None, ReportOptions()).to_json()
    jsonschema.validate(report, schema)
    assert schema["$defs"]["PairedTest"]["properties"]["p"] == {"type": ["number", "null"]}
