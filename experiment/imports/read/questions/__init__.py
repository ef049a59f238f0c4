"""Reads files of questions, in our own form or the published one, and tables that fill templates. Pure."""
