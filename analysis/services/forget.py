"""Results that were computed from somebody who is gone."""

from typing import Any

from django.db import transaction

from analysis import store
from analysis.models import Computation
from experiment.models import Study


def forget_results(study: Study, **_: Any) -> None:
    """Delete a study's stored results: at once for readers, and their files once the transaction is committed."""
    computations = Computation.objects.filter(study=study)
    computations.delete()

    def delete_all() -> None:
        computations.delete()  # those too that were begun before the commit
        store.delete_unowned(study.pk)

    transaction.on_commit(delete_all, robust=True)
