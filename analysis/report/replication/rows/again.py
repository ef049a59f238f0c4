"""The rows of a figure that the paper shows a second time, on machine-created test cases."""

from collections.abc import Iterable
from dataclasses import replace

from analysis.report.replication.places import Place
from analysis.report.replication.row import NotPublic, Printed, Relation


def on_machine_created(rows: Iterable[Printed], place: Place) -> tuple[Printed, ...]:
    """The same values without printed numbers; models' need scores that nobody published."""
    return tuple(
        replace(
            row,
            place=place,
            source=place.source,
            printed="",
            relation=Relation.EQUAL,
            why=None,
            instead=None,
            remark=None,
            not_public=NotPublic.NO_MACHINE_SCORES,
        )
        for row in rows
    )
