"""Training: gather a field's literature, make a corpus of it, and train language models on it. Knows no row of the database."""
