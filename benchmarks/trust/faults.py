"""All faults, in the order of docs/trust.md: name, title, databases, and how each strikes."""

from functools import partial

from benchmarks.trust.broker import missing_redis
from benchmarks.trust.outcome import Database, Fault, Part
from benchmarks.trust.strikes import (
    advised,
    backups,
    clients,
    database,
    fuzzing,
    load,
    network,
    processes,
    surroundings,
)
from benchmarks.trust.strikes.database import (
    answers,
    consents,
    held,
    pages,
    rows_held,
    writing_held,
)

POSTGRESQL, SQLITE = (Database.POSTGRESQL,), (Database.SQLITE,)
R, P, S, F = Part.REQUESTS, Part.PROCESSES, Part.SURROUNDINGS, Part.FUZZ
FAULTS = (
    Fault("sent-again", "Answers sent 50 times, changed, after going back, and while reloading", R, clients.sent_again),
    Fault("two-tabs", "The same participant in two tabs", R, clients.two_tabs),
    Fault("network-cut", "Connections cut during requests and responses, or slow", R, network.cut_and_slow),
    Fault("half-sent", "Forms whose body is cut off", R, network.half_sent),
    Fault("connections-ended", "The site's database connections closed every 1.5 s", R, database.connections_ended, POSTGRESQL),
    Fault("study-held", "The study's row locked for 25 s", R, partial(held, partial(rows_held, "experiment_study"), answers), POSTGRESQL),
    Fault("counters-held", "The counters of all test cases locked for 25 s", R, partial(held, partial(rows_held, "experiment_itemcount"), consents), POSTGRESQL),
    Fault("file-held", "The database's write lock held for 25 s", R, partial(held, writing_held, pages), SQLITE),
    Fault("rules-changed", "New exclusion rules applied to many participants", R, database.rules_changed),
    Fault("same-ids", "16 IDs of a recruitment site, each in 4 browsers at once", R, clients.same_ids),
    Fault("many-starts", "64 people start at once, 20 times", R, clients.many_starts),
    Fault("web-killed", "Web server killed and restarted", P, partial(processes.struck, processes.killed, 2, 6)),
    Fault("web-terminated", "Web server stopped and restarted", P, partial(processes.struck, processes.terminated, 1, 4)),
    Fault("web-reloaded", "Web server reloaded", P, partial(processes.struck, processes.reloaded, 1, 4, most_unanswered=0)),
    Fault("process-killed", "One web process killed", P, partial(processes.struck, processes.process_killed, 3, 12)),
    Fault("web-paused", "Web processes suspended (gunicorn ends them after 12 s here, by default after 60 s)", P, processes.web_paused),
    Fault("database-restarted", "Database restarted and crashed", P, processes.database_restarted, POSTGRESQL),
    Fault("killed-within-commit", "Process killed during a commit", P, processes.killed_within_commit, SQLITE),
    Fault("killed-before-advice", "Web server killed between an answer and the advice on it", P, advised.killed_before_advice),
    Fault("worker-struck", "Worker stopped, killed and suspended during scoring", P, processes.worker_struck, scores=True),
    Fault("celery-struck", "Celery worker stopped, killed and suspended during scoring", P, processes.celery_struck, scores=True, missing=missing_redis),
    Fault("disk-full", "Disk full, then freed", S, surroundings.disk_full, missing=surroundings.missing_disk, is_elsewhere=True),
    Fault("clock-jumps", "Clock a day ahead, then set back", S, surroundings.clock_jumps),
    Fault("clocks-disagree", "Clocks of web processes a day apart", S, surroundings.clocks_disagree),
    Fault("summer-time", "Beginning and end of summer time", S, surroundings.summer_time),
    Fault("export-during-writes", "Export while participants answer", S, surroundings.export_during_writes),
    Fault("export-killed", "Export killed, in the command and in a worker", S, surroundings.export_killed),
    Fault("scoring-server", "Scoring server that sends 429, 500, garbage or nothing", S, processes.misbehaving, scores=True),
    Fault("storage-gone", "File storage unavailable", S, surroundings.storage_gone),
    Fault("redis-gone", "Redis unavailable", S, surroundings.redis_gone, missing=missing_redis),
    Fault("half-weights", "Half-written weights", S, surroundings.half_written, scores=True),
    Fault("fuzz-submits", "Malformed forms", F, partial(fuzzing.in_process, "forms", 160, 10_000)),
    Fault("fuzz-wire", "Malformed bytes over HTTP", F, fuzzing.wire),
    Fault("fuzz-imports", "Damaged files", F, partial(fuzzing.in_process, "files", 200, 10_000)),
    Fault("fuzz-api", "API requests, valid and out of range", F, partial(fuzzing.in_process, "api", 100, 3_000)),
    Fault("fuzz-journey", "Sessions in any order, with faults", F, partial(fuzzing.in_process, "journey", 6, 150)),
    Fault("backup", "Backup while participants answer, restored elsewhere", Part.BACKUP, backups.backed_up),
    Fault("spoilt-backup", "Damaged backups", Part.BACKUP, backups.spoilt),
    Fault("restore", "Backup and restore of a large study", Part.BACKUP, backups.restored_large),
    Fault("restore-million", "Backup and restore of a million trials", Part.BACKUP, backups.restored_million, only_if_named=True),
    Fault("classroom", "64 people behind one address, each with an answer every 3 s, during 10,000 bad requests per minute", Part.LOAD, load.classroom),
    Fault("soak", "Up to half of the site's capacity, with faults", Part.LOAD, load.soak),
    Fault("hour", "Half of the site's capacity for an hour, with faults", Part.LOAD, partial(load.soak, full_s=load.HOUR_S), only_if_named=True),
    Fault("growth", "CPU time of tasks as a study grows", Part.GROWTH, load.growth),
)  # fmt: skip
