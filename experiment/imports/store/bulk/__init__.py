"""A file's test cases into a field of research: the difference first (plan.py), then all of it or nothing (apply.py)."""
