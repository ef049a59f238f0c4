"""Questions, what models and people answered, and the grades that judges and people gave."""
