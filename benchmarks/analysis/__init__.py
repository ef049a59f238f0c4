"""Costs of a report, in CPU time and memory, on the published data and on simulated studies of any size."""
