"""Quality rules for a test case, from the criteria of its writers. Pure."""
