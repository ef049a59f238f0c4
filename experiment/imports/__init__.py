"""Bringing published data in.

read/ turns files into records and problems and knows no database; store/ writes records as rows; report.py says what
was done.
"""
