"""Savings of time on a participant's way: pages and queries that are written once, places for transactions, both database backends.

docs/fast-path.md says what each part saves, as measured without it.
"""
