"""What a step of training costs, on random weights."""
