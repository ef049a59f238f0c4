"""Ways to break what was good: values, bytes, tables, JSON, arrays and requests. Knows nothing of what they are for."""
