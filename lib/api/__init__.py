"""What the API's views share: problem details, parameters from an allow-list, pages, files. Knows nothing of studies."""
