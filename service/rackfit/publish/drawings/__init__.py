"""Pictures of the pages as inline SVG, made on the server: each with a text alternative and its figures in a table."""
