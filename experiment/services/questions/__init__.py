"""Templates of questions are written, and questions are written and exported."""
