"""What a site's work costs as its studies grow, and how draws bear many processes at once."""
