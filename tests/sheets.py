"""Spreadsheets as programs write them: .xlsx by XlsxWriter, and .ods in the few elements that LibreOffice writes for cells."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import xlsxwriter

Rows = Sequence[Sequence[Any]]
_SPACES = {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
    for name in ("office", "table", "text")
}

_MANIFEST = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
)


def xlsx(sheets: Mapping[str, Rows]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for n, row in enumerate(rows):
                for place, cell in enumerate(row):
                    match cell:
                        case "" | None:
                            pass
                        case str():
                            sheet.write_string(n, place, cell)
                        case bool():
                            sheet.write_boolean(n, place, cell)
                        case datetime():
                            sheet.write_datetime(n, place, cell, moment)
                        case date():
                            sheet.write_datetime(n, place, cell, day)
                        case _:
                            sheet.write_number(n, place, cell)
    return file.getvalue()


def ods(sheets: Mapping[str, Rows]) -> bytes:
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>{''.join(map(_row, rows))}</table:table>"
        for name, rows in sheets.items()
    )
    spaces = " ".join(f'xmlns:{name}="{address}"' for name, address in _SPACES.items())
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.3">'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", _MANIFEST)
    return file.getvalue()


def _row(cells: Sequence[Any]) -> str:
    return (
        f"<table:table-row>{''.join(map(_cell, cells)) or '<table:table-cell/>'}</table:table-row>"
    )


def _cell(value: Any) -> str:
    match value:
        case "" | None:
            return "<table:table-cell/>"
        case str():
            of, text = 'office:value-type="string"', value
        case bool():
            of = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
            text = str(value).upper()
        case date():
            of, text = (
                f'office:value-type="date" office:date-value="{value.isoformat()}"',
                str(value),
            )
        case _:
            of, text = f'office:value-type="float" office:value="{value!r}"', f"{value:.10g}"
    return (
        f"<table:table-cell {of}>{''.join(map(_paragraph, text.split(chr(10))))}</table:table-cell>"
    )


def _paragraph(text: str) -> str:
    """Several spaces are one with how many more follow."""
    written, rest = "", escape(text)
    while "  " in rest:
        before, _, rest = rest.partition("  ")
        more = len(rest) - len(rest.lstrip(" "))
        written += f'{before} <text:s text:c="{more + 1}"/>'
        rest = rest.lstrip(" ")
    return f"<text:p>{written}{rest}</text:p>"
