"""Trigger models: texts with answers of a reader, and models that are fitted to them."""
