"""System checks of a configured installation."""
