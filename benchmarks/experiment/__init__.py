"""Costs of people's trials, on studies of any size in databases of their own."""
