"""Test cases of a study, to read."""
