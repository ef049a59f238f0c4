"""Malformed requests, damaged files, and participants among faults. Every case has a seed and a number."""
