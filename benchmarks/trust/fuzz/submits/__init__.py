"""Malformed forms, in this process for their number and as bytes over HTTP: each is refused and nothing of it stored, or taken."""
