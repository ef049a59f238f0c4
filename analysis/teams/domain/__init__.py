"""Combining the judgments of people and language models: what they say, ways to combine it, and what that brings. Pure."""
