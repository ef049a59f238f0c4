"""All faults, in the order of docs/trust.md: name, title, databases, and how each strikes."""

from functools import partial

from benchmarks.trust.broker import missing_redis
from benchmarks.trust.fault import Database, Fault, Part
from benchmarks.trust.strikes import backups, clients, fuzzing, load, processes, surroundings
from benchmarks.trust.strikes.clients import answers, consents, held, pages, rows_held, writing_held

POSTGRESQL, SQLITE = (Database.POSTGRESQL,), (Database.SQLITE,)
R, P, S, F = Part.REQUESTS, Part.PROCESSES, Part.SURROUNDINGS, Part.FUZZ
FAULTS = (
    Fault("sent-again", "Answers sent 50 times, changed, after going back, while reloading", R, clients.sent_again),
    Fault("two-tabs", "Two tabs walk the same way", R, clients.two_tabs),
    Fault("network-cut", "Connections cut within requests and answers, or slow", R, clients.cut_and_slow),
    Fault("half-sent", "Forms cut off within their body", R, clients.half_sent),
    Fault("connections-ended", "The site's connections to the database ended every 1.5 s", R, clients.connections_ended, POSTGRESQL),
    Fault("study-held", "The study's row held by another for 25 s", R, partial(held, partial(rows_held, "experiment_study"), answers), POSTGRESQL),
    Fault("counters-held", "The counters of all test cases held by another for 25 s", R, partial(held, partial(rows_held, "experiment_itemcount"), consents), POSTGRESQL),
    Fault("file-held", "The database's one lock for writing held by another for 25 s", R, partial(held, writing_held, pages), SQLITE),
    Fault("rules-changed", "A crowd decided again by new rules", R, clients.rules_changed),
    Fault("same-ids", "16 ids of a recruitment site, each in 4 browsers at once", R, clients.same_ids),
    Fault("many-starts", "64 people begin at once, 20 times", R, clients.many_starts),
    Fault("web-killed", "Web server killed and started again", P, partial(processes.struck, processes.killed, 2, 6)),
    Fault("web-terminated", "Web server asked to end and started again", P, partial(processes.struck, processes.terminated, 1, 4)),
    Fault("web-reloaded", "Web server reloaded", P, partial(processes.struck, processes.reloaded, 1, 4, most_unanswered=0)),
    Fault("process-killed", "One web process killed", P, partial(processes.struck, processes.process_killed, 3, 12)),
    Fault("web-paused", "Web processes standing still; here gunicorn ends them after 12 s, as shipped after 60", P, processes.web_paused),
    Fault("database-restarted", "Database restarted, and crashed", P, processes.database_restarted, POSTGRESQL),
    Fault("killed-within-commit", "Killed within a commit", P, processes.killed_within_commit, SQLITE),
    Fault("worker-struck", "Worker ended, killed and paused amid scoring", P, processes.worker_struck, scores=True),
    Fault("celery-struck", "Celery's worker ended, killed and paused amid scoring", P, processes.celery_struck, scores=True, missing=missing_redis),
    Fault("disk-full", "Disk full, and freed", S, surroundings.disk_full, missing=surroundings.missing_disk, is_elsewhere=True),
    Fault("clock-jumps", "Clock a day ahead, and set back", S, surroundings.clock_jumps),
    Fault("clocks-disagree", "Web processes a day apart", S, surroundings.clocks_disagree),
    Fault("summer-time", "The moments when summer time begins and ends", S, surroundings.summer_time),
    Fault("export-during-writes", "Export while people answer", S, surroundings.export_during_writes),
    Fault("export-killed", "Export killed, of the command and of a worker", S, surroundings.export_killed),
    Fault("scoring-server", "Scoring server that answers 429, 500, rubbish or nothing", S, processes.misbehaving, scores=True),
    Fault("storage-gone", "Storage of files gone", S, surroundings.storage_gone),
    Fault("redis-gone", "Redis gone", S, surroundings.redis_gone, missing=missing_redis),
    Fault("half-weights", "Weights half written", S, surroundings.half_written, scores=True),
    Fault("fuzz-submits", "Malformed forms", F, partial(fuzzing.in_process, "forms", 160, 10_000)),
    Fault("fuzz-wire", "Malformed bytes over HTTP", F, fuzzing.wire),
    Fault("fuzz-imports", "Damaged files", F, partial(fuzzing.in_process, "files", 200, 10_000)),
    Fault("fuzz-api", "API requests, in range and out of it", F, partial(fuzzing.in_process, "api", 100, 3_000)),
    Fault("fuzz-journey", "Journeys in any order, with faults", F, partial(fuzzing.in_process, "journey", 6, 150)),
    Fault("backup", "Backup while people take part, restored elsewhere", Part.BACKUP, backups.backed_up),
    Fault("spoilt-backup", "Spoilt backups restored", Part.BACKUP, backups.spoilt),
    Fault("restore", "Backup and restore of a large study", Part.BACKUP, backups.restored_large),
    Fault("restore-million", "Backup and restore of a million trials", Part.BACKUP, backups.restored_million, only_if_named=True),
    Fault("classroom", "64 people behind one address, an answer of each every 3 s, beside 10,000 bad requests a minute", Part.LOAD, load.classroom),
    Fault("soak", "Up to half of what it can bear, with faults", Part.LOAD, load.soak),
    Fault("hour", "Half of what it can bear for an hour, with faults", Part.LOAD, partial(load.soak, full_s=load.HOUR_S), only_if_named=True),
    Fault("growth", "Cost of work as a study grows, CPU time", Part.GROWTH, load.growth),
)  # fmt: skip
