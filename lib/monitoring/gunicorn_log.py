"""gunicorn's own lines go where the site's do, by `logconfig_dict`."""

from gunicorn.glogging import Logger  # type: ignore[import-untyped]


class Log(Logger):  # type: ignore[misc]
    """Without an access log: with a configuration of its own gunicorn would prepare a line for every request."""

    @property
    def access_log_enabled(self) -> bool:
        return False
