"""Answers and grades at scale: what processes that are killed amid them lose, ask twice and need of memory."""
