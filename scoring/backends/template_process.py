"""A process that `scoring.domain.prompts` starts beside its own: it renders chat templates, each within bounds of memory and time.

Run as a file, since it needs nothing of this project, and no PyTorch.
"""

import json
import os
import resource
import sys
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self

_SIZE = Path("/proc/self/statm")  # Linux; elsewhere time alone is bounded


class _OneDay(datetime):
    """The day that Llama's templates take where none is given: one that asks for today's writes the same prompt every day."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2024, 7, 26, tzinfo=tz)


def main() -> None:
    # What libraries print is no answer
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.modules["torch"] = None  # type: ignore[assignment]  # takes seconds, and gigabytes of addresses
    from transformers.utils import chat_template_utils

    chat_template_utils.datetime = _OneDay  # type: ignore[attr-defined]  # in its strftime_now
    render = chat_template_utils.render_jinja_template
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        # Beside what is loaded; who asks looks at the clock, and may be gone
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = int(used.ru_utime + used.ru_stime + question["seconds"]) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, resource.RLIM_INFINITY))
        if _SIZE.exists():
            size = int(_SIZE.read_text().split()[0]) * resource.getpagesize()
            most = size + question["memory"]
            resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        print(json.dumps(_answer(render, question)), file=answers, flush=True)


def _answer(render: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        rendered, _ = render(conversations=[question["turns"]], **question["how"])
        text = str(rendered[0])
    except Exception as error:  # noqa: BLE001 (theirs, whatever it is)
        from jinja2 import TemplateError

        names = [kind.__name__ for kind in (TemplateError, MemoryError, OverflowError)]
        bases = {kind.__name__ for kind in type(error).__mro__}
        name = next((name for name in names if name in bases), type(error).__name__)
        return {"error": name, "says": str(error)}
    if len(text) > question["longest"]:
        return {"characters": len(text)}
    return {"text": text}


if __name__ == "__main__":
    main()
