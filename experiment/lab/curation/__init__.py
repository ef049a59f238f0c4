"""Test cases of a study, to read and to write new versions of."""
