from benchmarks.trust.check import Database
from tests.benchmarks.trust.short import check_all


def test_what_was_acknowledged_is_stored_once_whatever_strikes_the_site() -> None:
    """Slow: sites are started, killed and started again."""
    check_all(Database.POSTGRESQL)
