"""Answers and grades as tables: of a study's whole data set, and of the files that pages of runs give."""
