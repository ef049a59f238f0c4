"""What the paper prints, by topic: each number beside the way to recompute it."""

from analysis.report.replication.row import Printed
from analysis.report.replication.rows import (
    accuracy,
    confidence,
    flips,
    models,
    participants,
    tables,
    teams,
)

ROWS: tuple[Printed, ...] = (
    *participants.ROWS,
    *accuracy.ROWS,
    *confidence.ROWS,
    *models.ROWS,
    *flips.ROWS,
    *tables.ROWS,
    *teams.ROWS,
)
