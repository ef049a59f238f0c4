"""Test cases of a study, to read, and to pause while it runs. They are written and reviewed in their field."""
