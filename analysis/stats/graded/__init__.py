"""Estimators of graded answers: how often they are good, abstain or are bad; how far grades can be relied on.

A fate is what a grade comes to, one of `FATES`. Rows made from one template of questions are alike: they are one cluster.
"""

# As scoring.domain.grading.rubric.Fate has them, whose members equal these texts
GOOD, ABSTAINED, BAD, UNPARSED = FATES = ("good", "abstained", "bad", "unparsed")
