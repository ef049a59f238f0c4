"""manage.py site_address: for whom the site is, as its address stands."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from experiment.services.site_address import WHAT_TO_SET, address_fault


class Command(BaseCommand):
    help = "Say who can open this site's links, and what to set if nobody else can."

    def handle(self, *args: Any, **options: Any) -> None:
        if fault := address_fault():
            self.stdout.write(
                f"At {settings.BASE_URL} you can set up studies and try them. People elsewhere cannot take part: {fault}. {WHAT_TO_SET}"
            )
        else:
            self.stdout.write(f"Links of this site begin with {settings.BASE_URL}.")
