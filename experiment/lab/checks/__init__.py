"""What the checks say of a test case, answered by curators."""
