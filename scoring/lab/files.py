"""Tables that a page sends as it reads them."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from experiment.domain.codebook import Column
from lib.table_files import CONTENT_TYPES, csv_lines, in_blocks


def sent_as_csv(
    name: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]
) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        csv_lines(columns, in_blocks(rows)),
        content_type=CONTENT_TYPES["csv"],
        headers={"Content-Disposition": content_disposition_header(True, f"{name}.csv")},
    )
