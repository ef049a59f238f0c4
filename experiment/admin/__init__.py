"""Django's admin: items, studies, and who took part."""

from experiment.admin import items, people, studies

__all__ = ["items", "people", "studies"]
