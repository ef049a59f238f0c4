"""Pages of a study's questions as language models answer them."""
