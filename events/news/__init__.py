"""Dated news articles in files: JSON Lines, tables, texts and NITF XML."""
