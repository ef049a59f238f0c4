"""Questions with expert answers: their columns in files, and templates that rows of a table fill."""
