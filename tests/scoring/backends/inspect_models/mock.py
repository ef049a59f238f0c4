"""Inspect's process with its mock provider, which says what it is told; run as a file in Inspect's Python.

The mock counts tokens with a file from the network unless its answers say how many they took.
"""

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

PROCESS = Path(__file__).parents[4] / "scoring/backends/inspect_process.py"
DELAY_S = 0.5


def main() -> None:
    spec = spec_from_file_location("inspect_process", PROCESS)
    assert spec is not None
    assert spec.loader is not None
    process = module_from_spec(spec)
    spec.loader.exec_module(process)
    process._open = open_mock
    process.main()


def open_mock(begin: Any) -> Any:
    from inspect_ai.model import (
        ContentReasoning,
        ContentText,
        GenerateConfig,
        ModelOutput,
        ModelUsage,
        get_model,
    )

    async def said(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        """As the last message has it: `slow`, `fails NAME`, or what is repeated."""
        text = messages[-1].text
        if text.startswith("slow"):
            await asyncio.sleep(DELAY_S)
        if text.startswith("fails"):
            raise RuntimeError(text)
        parts = [ContentReasoning(reasoning="Is it?"), ContentText(text=f"{text} {config.seed}")]
        reason = "max_tokens" if text == "long" else "stop"
        output = ModelOutput.from_content("mock-1", parts, stop_reason=reason)
        output.usage = ModelUsage(
            input_tokens=9,
            output_tokens=4,
            total_tokens=33,
            input_tokens_cache_read=20,
            reasoning_tokens=3,
        )
        return output

    config = GenerateConfig(max_retries=0, max_connections=begin["concurrency"])
    return get_model("mockllm/model", config=config, custom_outputs=said, memoize=False)


if __name__ == "__main__":
    main()
