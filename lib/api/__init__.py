"""Code that the API's views share: problem details, parameters from an allow-list, pages, files. It knows nothing of studies."""
