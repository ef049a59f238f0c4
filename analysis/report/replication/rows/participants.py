"""Who took part, by which procedure, and the machine-created test cases: the paper's Methods."""

from functools import partial

from analysis.report.chapters.participants.results import Code
from analysis.report.replication import recomputed as of
from analysis.report.replication.places import (
    ITEMS,
    MACHINE,
    PEOPLE,
    PROCEDURE,
    Place,
)
from analysis.report.replication.recomputed import Recomputed, Value
from analysis.report.replication.row import NotPublic, Printed, Relation, Remark, Why


def _absent(place: Place, what: str, printed: str, why: NotPublic) -> Printed:
    return Printed(place=place, what=what, printed=printed, not_public=why)


def _gender(what: str, code: str, printed: str, why: Why | None = None) -> Printed:
    value = partial(of.share_of_people, column="gender", value=code)
    return Printed(place=PEOPLE, what=f"{what}, percent", printed=printed, value=value, why=why)


def _years(what: str, printed: str, value: Value) -> Printed:
    return Printed(place=PEOPLE, what=what, printed=printed, value=value)


def _fastest(r: Recomputed) -> float:
    """Seconds of the fastest trial."""
    return float(r.data.need_trials()["rt_ms"].min()) / 1000


ROWS: tuple[Printed, ...] = (
    Printed(
        place=PEOPLE,
        what="participants recruited",
        printed="202",
        value=partial(of.n_participants, code=Code.RECRUITED),
    ),
    _absent(PEOPLE, "recruitment, first day", "2023-12-11", NotPublic.NO_TIMES),
    _absent(PEOPLE, "recruitment, last day", "2023-12-22", NotPublic.NO_TIMES),
    _absent(PEOPLE, "people who did not finish", "795", NotPublic.FINISHERS),
    Printed(
        place=PEOPLE,
        what="participants excluded",
        printed="31",
        value=lambda r: of.flow(r).n_excluded,
    ),
    Printed(
        place=PEOPLE,
        what="participants analysed",
        printed="171",
        value=partial(of.n_participants, code=Code.ANALYSED),
    ),
    *(
        Printed(
            place=PEOPLE,
            what=f"participants: {position}",
            printed=n,
            value=partial(of.n_people, column="career", value=position),
        )
        for position, n in (
            ("Doctoral student", "51"),
            ("Faculty or academic staff", "43"),
            ("Postdoctoral researcher", "43"),
            ("Predoctoral student", "18"),
            ("Research scientist", "12"),
            ("Other", "4"),
        )
    ),
    _years(
        "experience in years, mean",
        "10.1",
        lambda r: float(of.people(r, "experience_years").mean()),
    ),
    _years("age in years, mean", "35.2", lambda r: float(of.people(r, "age").mean())),
    _years("age in years, sd", "9.4", lambda r: float(of.people(r, "age").std(ddof=1))),
    _gender("male", "male", "62.5", Why.CUT_OFF),
    _gender("female", "female", "34.5"),
    _gender("gender variant", "gender_variant", "0.6"),
    _absent(PEOPLE, "ethics approval", "EP/2017/011", NotPublic.AUTHORS),
    _absent(PROCEDURE, "practice trials", "1", NotPublic.NO_CATCH),
    _absent(PROCEDURE, "trials of a participant", "11", NotPublic.NO_CATCH),
    Printed(
        place=PROCEDURE,
        what="of these on human-created test cases",
        printed="6",
        value=of.most_trials,
    ),
    Printed(
        place=PROCEDURE,
        source=MACHINE,
        what="of these on machine-created test cases",
        printed="3",
        value=of.most_trials,
    ),
    _absent(PROCEDURE, "of these catch trials", "2", NotPublic.NO_CATCH),
    Printed(
        place=PROCEDURE,
        what="lowest rating",
        printed="1",
        value=lambda r: float(r.data.need_trials()[["confidence", "expertise"]].min().min()),
    ),
    Printed(
        place=PROCEDURE,
        what="highest rating",
        printed="100",
        value=lambda r: float(r.data.need_trials()[["confidence", "expertise"]].max().max()),
    ),
    Printed(
        place=PROCEDURE,
        what="time below which a trial is excluded, s; recomputed: of the fastest trial",
        printed="5",
        value=_fastest,
        relation=Relation.AT_LEAST,
    ),
    Printed(
        place=ITEMS,
        what="machine-created test cases",
        printed="100",
        value=lambda r: r.data.n_items,
    ),
    Printed(
        place=ITEMS,
        what="machine-created test cases that are a human-created one, word for word",
        printed="8",
        value=lambda r: r.n_identical,
        remark=Remark.BOTH_TEXTS,
    ),
)
