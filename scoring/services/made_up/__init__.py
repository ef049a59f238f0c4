"""Answers and grades that are made up, and labelled so, to show what results look like."""
