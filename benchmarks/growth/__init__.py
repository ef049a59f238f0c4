"""Costs of a site's work as its studies grow, and draws by many processes at once."""
