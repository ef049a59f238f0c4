"""Logistic mixed model with crossed random intercepts of participants and items, by maximum likelihood."""
