"""People: items, studies, participants and trials."""
