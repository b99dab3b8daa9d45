"""Lexicons: names of countries and other actors, with the dates of their validity."""
