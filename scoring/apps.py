from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from scoring.backends.http.address import Listed


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        """Registers graders' quotations, which go with the words of a person who became anonymous; a data set has answers and
        grades; backends find servers of the site's list, whose keys follow a change of WITHDRAWAL_KEY.
        """
        from experiment.models import Study
        from experiment.services import chores
        from experiment.services.export import data_set
        from experiment.services.withdrawal import people_erased
        from scoring import checks  # noqa: F401 (registers a system check)
        from scoring.backends.http import address
        from scoring.services.data_set import more_tables, state
        from scoring.services.grading.targets import forget_words

        address.LISTED.append(find_listed)
        chores.RESEALED_TOO.append(reseal_server_keys)
        data_set.ADDITIONS.append(data_set.Addition(more_tables, state))
        people_erased.connect(forget_words, sender=Study)


def find_listed(place: str) -> "Listed | None":
    """A server of the site's list, by its host and port."""
    from scoring.services.servers import listed

    return listed(place)


def reseal_server_keys(old_key: str) -> tuple[int, int]:
    """Keys of model servers."""
    from scoring.services.servers import reseal

    return reseal(old_key)
