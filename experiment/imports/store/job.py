"""A large file's import as background work: compared row by row, then written at once."""

from django.contrib.auth.models import User
from django.db import transaction

from experiment.imports.read.items import Defaults
from experiment.imports.store.item_plans import Options, plan_import
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import PlanRefusedError, import_items
from experiment.models import ItemImport, ResearchField
from experiment.services import item_files, work
from lib.jobs.leases import Lease, run_job


class RefusedError(Exception):
    """Nothing was imported; the message says why."""


@transaction.atomic
def ask(
    research_field: ResearchField, upload: str, options: Options, shown: str, by: User
) -> ItemImport:
    """Have a worker import a kept file as it was shown."""
    job = ItemImport.objects.create(
        research_field=research_field,
        created_by=by,
        upload=upload,
        shown=shown,
        source=options.defaults.source,
        generator=options.defaults.generator,
        new_subfields=options.new_subfields,
        accepted_before=options.accepted_before,
    )
    work.start(job, by)
    return job


def run(job: ItemImport) -> ItemImport:
    return run_job(job, _import, expected=(RefusedError,))


def _import(job: ItemImport, lease: Lease) -> None:
    def compared(done: int) -> None:
        lease.check()
        lease.write(done=done)

    try:
        data = item_files.read_upload(job.research_field, job.created_by, job.upload)
    except FileNotFoundError as gone:
        raise RefusedError("The file is no longer kept: send it again.") from gone
    options = Options(
        Defaults(job.source, job.generator),
        new_subfields=job.new_subfields,
        accepted_before=job.accepted_before,
    )
    # Before the transaction that writes: from within it, nobody would see how far it has come
    plan = plan_import(
        data, job.research_field, options, progress=compared, total=lambda n: lease.write(total=n)
    )
    lease.check()
    try:
        with transaction.atomic():
            plan = import_items(
                data, job.research_field, options, by=job.created_by, shown=job.shown
            )
            lease.write(
                done=len(plan.rows),
                n_created=plan.count(Action.CREATE),
                n_updated=plan.count(Action.UPDATE),
            )
    except PlanRefusedError as refused:
        raise RefusedError(
            "The field's test cases have changed since the difference was shown: send the file and look at it again."
        ) from refused
    item_files.forget_upload(job.research_field, job.created_by, job.upload)
