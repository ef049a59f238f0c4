"""What can be fuzzed in a process that has Django and a scratch database."""

from collections.abc import Sequence

from benchmarks.trust.fuzz import api
from benchmarks.trust.fuzz.cases import Tally
from benchmarks.trust.fuzz.imports.run import run as fuzz_imports
from benchmarks.trust.fuzz.journey.machine import run as fuzz_journey
from benchmarks.trust.fuzz.material import prepare
from benchmarks.trust.fuzz.submits.run import run as fuzz_submits
from benchmarks.trust.fuzz.submits.wire import run as fuzz_wire


def fuzz(what: str, seed: int, numbers: Sequence[int], port: int = 0) -> Tally:
    """These cases, beginning with rows of their own; `port` is that of a site on the same database."""
    name = f"fuzz-{numbers[0]}"
    material = prepare(name)
    match what:
        case "imports":
            return fuzz_imports(material, seed, numbers)
        case "submits":
            return fuzz_submits(material, prepare(f"{name}-lab"), seed, numbers)
        case "wire":
            return fuzz_wire(material, port, seed, numbers)
        case "api":
            return api.run(material, seed, numbers)
        case "journey":
            return fuzz_journey(material.user, seed, numbers)
    raise ValueError(what)
