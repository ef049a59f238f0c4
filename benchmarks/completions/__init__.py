"""A completions server in front of a small language model, with faults on demand: for tests and for checks of trust."""
