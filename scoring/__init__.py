"""Machines: the perplexity of the same items under language models."""
