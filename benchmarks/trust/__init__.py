"""Faults that the site survives, shown on a site of its own: `make trust`, and docs/trust.md."""
