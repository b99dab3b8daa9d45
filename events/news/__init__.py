"""Dated news articles in files: JSON Lines, tables, Excel workbooks, texts and NITF XML."""
