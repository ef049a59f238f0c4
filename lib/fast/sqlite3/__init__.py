"""Django's SQLite, whose one lock for writing is taken in turn: named as ENGINE in the settings."""
