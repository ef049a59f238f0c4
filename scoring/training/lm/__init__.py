"""Trains causal language models. Knows no test case and no row of the database; loads torch."""
