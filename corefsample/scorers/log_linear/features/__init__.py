"""Features of mention pairs: atoms of a mention, templates, and their hashes."""
