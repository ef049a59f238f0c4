"""Questions with expert answers: how well models and people answer them. Each chapter is of the whole study."""
