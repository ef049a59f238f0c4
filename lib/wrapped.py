"""Templates of plain text, whose paragraphs stand in their files as lines that can be read."""

import re

from django.template import Origin
from django.template.loaders import filesystem

_GOES_ON = re.compile(r"\n {4}(?=\S)")


def joined(text: str) -> str:
    r"""A line that is indented by four spaces goes on with the line before it; all other line breaks are kept.

    >>> joined("- Answer with one\n    number.\n  Why?\n\nNothing else.\n")
    '- Answer with one number.\n  Why?\n\nNothing else.\n'
    """
    return _GOES_ON.sub(" ", text)


class Loader(filesystem.Loader):
    """Reads the site's templates, *.txt with their lines joined: what a model or a participant is told has no line width."""

    def get_contents(self, origin: Origin) -> str:
        text = super().get_contents(origin)
        return joined(text) if origin.name.endswith(".txt") else text
