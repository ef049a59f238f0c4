"""Work in the background, whatever it is: scoring runs, reports, teams, exports.

A job is a row of a concrete subclass of `models.Job`. The row is the truth; a Celery message only says "look at this row".

- `models.Job`: the columns (status, progress, cancel request, attempts, worker and heartbeat, error).
- `leases`: `take` a job (one worker at a time), `waiting` and `stale` jobs, `request_cancel`, `reopen`; `run_job`: take a job,
  keep its lease alive, do the work, store how it ended.
- `worker`: what `manage.py work` does, the default: it looks into the database for jobs, and has a process of its own do them;
  what a worker does once a day; `start_process`: a process for one job, where no worker lives.
- `workers`: which workers live and what they take, of either sort.
- `queue.enqueue`: send a message once the row is committed, where Celery's workers listen (`JOB_EXECUTOR=celery`); `tasks`: the
  one Celery task, which sends again what was lost or whose worker is gone.

A new kind of job is a subclass with `runner` and `may_ask`, and a function at each of these paths:

    class ReportJob(Job):
        runner = "analysis.report.services.compute.run"
        may_ask = "analysis.report.services.compute.may_ask"

    def run(job: ReportJob) -> None:
        run_job(job, compute, expected=(ReportError,))

    def compute(job: ReportJob, lease: Lease) -> None:
        for done, part in enumerate(parts):
            lease.check()  # stops here if cancelled, if who asked may no longer, or if another worker has the job
            ...
            lease.write(done=done + 1)

    def may_ask(user: User, job: ReportJob) -> bool:
        return may(user, Right.WORK, job.study)

Nothing here knows what a study, a model or a report is.
"""
