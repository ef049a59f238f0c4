"""Use cases of training: a corpus is built, a training asked for, done, and its model registered."""
