"""What a grade is: the rubric as data, and what of a judge's text is one."""
