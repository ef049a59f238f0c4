"""Texts of a field: fetched or read from files, cleaned, parted and written with their hashes. Knows neither Django nor torch."""
