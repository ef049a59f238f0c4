"""What a participant's journey costs here and in oTree 6, and how the site bears many people at once."""
