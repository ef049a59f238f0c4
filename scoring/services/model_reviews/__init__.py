"""Language models review test cases that people are reviewing; theirs is an opinion, and decides nothing."""
