"""A field's questions: listed, written, from files and to files, and made from templates."""
