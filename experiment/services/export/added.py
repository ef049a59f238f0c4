"""What apps above this one add to a study's whole data set: each names its functions here, as dotted paths.

Pages that write no data set do without what these load.
"""

from collections.abc import Callable, Iterable, Iterator

from django.utils.module_loading import import_string

from experiment.domain.export_form import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.export.tables import Held, Table

MoreTables = Callable[[Held], Iterable[Table]]
TABLES: list[str] = []  # (study, query, form) -> MoreTables, called once the trials are written
STATES: list[str] = []  # (study) -> a name for all that these tables are made of


def more_tables(study: Study, query: TrialQuery, form: Form) -> MoreTables:
    """Whatever is found outside the database is found now."""
    found: list[MoreTables] = [import_string(path)(study, query, form) for path in TABLES]

    def tables(held: Held) -> Iterator[Table]:
        for more in found:
            yield from more(held)

    return tables


def no_tables(_: Held) -> Iterable[Table]:
    return ()


def state(study: Study) -> list[str]:
    return [import_string(path)(study) for path in STATES]
