"""Bayesian combination of correlated judgments: the model, its likelihood, its posterior and what that predicts."""
