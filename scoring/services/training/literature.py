"""Entrez as this site's settings name it."""

from django.conf import settings

from scoring.training.corpus.entrez.client import Access, Client


def open_client() -> Client:
    """The only host that it asks is that of ENTREZ_URL."""
    return Client(Access(settings.ENTREZ_URL, settings.ENTREZ_API_KEY, settings.ENTREZ_EMAIL))
