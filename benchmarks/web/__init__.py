"""Costs of a participant's journey here and in oTree 6, and the site under many people at once."""
