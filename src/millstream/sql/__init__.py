"""The only importer of sqlglot: SQL text becomes checked expressions."""
