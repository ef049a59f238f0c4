"""Grades: the rubric as data, and the reading of a judge's text."""
