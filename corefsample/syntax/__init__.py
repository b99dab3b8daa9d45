"""Dependency schemes, grammatical roles, paths through a parse, and mentions found in it."""
