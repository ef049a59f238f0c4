"""A field's test cases as files: in the forms that import_items reads, and as a folder of Hugging Face's datasets."""
