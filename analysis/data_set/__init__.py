"""The whole study as tables that join: its trials, participants and test cases, what models made of these, and teams.

A data set of Psych-DS, to which `tables.py` adds what people's own export does not know.
"""
