"""The built-in demo study's material."""
