"""The levels from which reports conclude, and which dry runs forecast."""

LEVEL = 0.05  # of tests, after the correction for their family
ENOUGH = 8  # participants and test cases, below which the level of a test is not known
