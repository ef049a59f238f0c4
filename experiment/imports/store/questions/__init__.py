"""Questions of a file or a template into a field: the difference first (plan.py), then all of it or nothing (apply.py)."""
