"""Reading and writing text: tokens, statements, names, quotations, fences; no domain values and no files."""
