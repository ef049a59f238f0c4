"""Judged trials, and what belongs to them, as rows and as files: one query behind page, command and interface.

`trials.py`: the rows of a query. `files.py`: a file of one moment, with a manifest. `jobs.py`: by a worker.
"""
