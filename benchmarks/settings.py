"""The site's settings with the developers' commands `bench` and `trust`, which no site needs."""

from config.settings import *  # noqa: F403 (these are the settings)
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]
