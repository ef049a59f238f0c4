"""Whether confidence goes with accuracy, and who knows what: figure 4, Table S3's figure aside, and expertise."""

from dataclasses import replace
from functools import partial

from analysis.codec import need
from analysis.report.replication import places
from analysis.report.replication import recomputed as of
from analysis.report.replication.row import Printed, Relation, Why
from analysis.report.replication.rows.accuracy import N_MODELS, SUBFIELD_ITEMS, TOP_SHARE
from analysis.report.replication.rows.again import on_machine_created

CALIBRATION = (
    Printed(place=places.CALIBRATION, what="bins", printed="20", value=of.n_bins),
    Printed(
        place=places.CALIBRATION,
        what="people: slope, accuracy per rank",
        printed="0",
        relation=Relation.ABOVE,
        value=of.human_slope,
    ),
    Printed(
        place=places.CALIBRATION,
        what="people: correlation of accuracy and bin",
        value=lambda r: need(need(of.calibration(r).humans).binned).line.r,
    ),
    Printed(
        place=places.CALIBRATION,
        what=f"models whose slope is positive, of {N_MODELS}",
        printed=N_MODELS,
        value=of.n_rising,
    ),
)
ROWS: tuple[Printed, ...] = (
    *CALIBRATION,
    *on_machine_created(CALIBRATION, places.MACHINE_CALIBRATION),
    replace(TOP_SHARE, place=places.EXPERTISE),
    *(
        Printed(
            place=places.EXPERTISE,
            what=f"{name}: expertise from which on a trial is among the top 20%",
            printed="50",
            relation=Relation.AT_LEAST,
            tolerance=5,  # "around", read kindly
            value=partial(of.p80, name=name),
            why=Why.LOW_SUBFIELD,
        )
        for name, _ in SUBFIELD_ITEMS
    ),
    Printed(
        place=places.EXPERTISE,
        what="lowest of these",
        value=lambda r: min(of.p80(r, name) for name, _ in SUBFIELD_ITEMS),
    ),
)
