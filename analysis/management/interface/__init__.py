"""The public names of docs/promises.md, as the code declares them, and their comparison with docs/interface.json."""
