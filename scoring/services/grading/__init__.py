"""Answers of models and of people are graded: by judges, which are models, and by people who do not know whose they are."""
