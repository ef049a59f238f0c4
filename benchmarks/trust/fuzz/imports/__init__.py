"""Damaged files of every kind that the site reads: each is refused with a reason, or imported whole."""
