"""Test cases from files and to files."""
