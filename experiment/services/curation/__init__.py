"""Test cases from a draft to an accepted text and its end."""
