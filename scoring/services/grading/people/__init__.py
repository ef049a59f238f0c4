"""People grade a sample of the answers, not knowing whose they are; where two differ, a third settles it."""
