"""The application that a WSGI server such as gunicorn runs."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from config.requests import Handler  # noqa: E402 (it needs the settings)

application = Handler()
