"""Django's admin: items, studies, and who took part."""

from experiment.admin import accounts, items, people, studies

__all__ = ["accounts", "items", "people", "studies"]
