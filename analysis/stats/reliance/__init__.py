"""Estimators of advised decisions: how people use advice that is right or wrong, and what comes of it.

Every interval is for other participants and other test cases (analysis.stats.two_way_clustered). docs/decisions/0025-advice.md
gives the literature's definitions and why these were chosen.
"""
