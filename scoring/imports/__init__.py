"""Bringing published model results in.

`read` knows no database: numbers.py reads and checks arrays, folders.py a model's folder, published.py all of them.
`store` writes: published.py everything that a directory holds, runs.py and scores.py its rows, model_set.py the study's
models. report.py gives the import's results. Files, problems and items are as in experiment.imports, which this builds on.
"""
