"""How fast and how exact scoring is, beside the two ways that people know; on random weights, so without a download."""
