"""What is done to the site while people take part."""
