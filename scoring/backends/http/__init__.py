"""Servers of models: their addresses and keys, requests, and what is told of failures."""

KEYS_VARIABLE = "SCORING_API_KEYS"
