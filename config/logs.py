"""How the log is written; what its lines are, lib/monitoring/lines.py says. gunicorn's processes read this too, before Django."""

from typing import Any

from config.env import Env

FORMATS = {"text": "lib.monitoring.lines.TextLine", "json": "lib.monitoring.lines.JsonLine"}
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def logging_config(env: Env) -> dict[str, Any]:
    """Return what `logging.config.dictConfig` takes: everything to standard error."""
    level = env.choice("LOG_LEVEL", "WARNING", LEVELS)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"shorten_refusals": {"()": "lib.monitoring.lines.ShortenRefusals"}},
        "formatters": {"line": {"()": FORMATS[env.choice("LOG_FORMAT", "text", tuple(FORMATS))]}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "filters": ["shorten_refusals"],
                "formatter": "line",
            },
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would print the same line again, or mail it
            "django": {"handlers": [], "level": "NOTSET", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            "gunicorn.error": {"handlers": [], "level": level, "propagate": True},
            "gunicorn.access": {"handlers": [], "level": "ERROR", "propagate": False},
            # Warns at every HEAD request that it drops the body, as it should
            "gunicorn.http.wsgi": {"level": "ERROR"},
        },
    }
