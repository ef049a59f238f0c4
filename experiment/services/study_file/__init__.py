"""A whole study as one JSON file: settings, rules, channels, texts and test cases. The text of a test case goes along, so that another
site can have it. What people did is no part of it.
"""
