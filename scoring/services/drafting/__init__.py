"""Abstracts become drafts of test cases by way of a language model; people decide on them."""
