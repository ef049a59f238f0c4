"""Copies of a site: made while it runs, checked, and brought back. Knows nothing of studies."""
