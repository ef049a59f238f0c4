"""Fields of research: what they are called, who belongs to them, and those that come with the project."""
