"""One version of a test case: its text, its way through review, what is said of it and known about it."""
