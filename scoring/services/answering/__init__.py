"""Language models answer a study's questions; what is wrong with an answer is a state of it, and ends no run."""
