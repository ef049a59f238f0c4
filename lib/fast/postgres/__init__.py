"""Django's PostgreSQL, spared what a request need not wait for: named as ENGINE in the settings."""
