"""Endings of the names of files, by what the files hold: the one table for all formats that the project reads."""

SCORED = (".jsonl", ".jsonl.gz", ".parquet")  # a table with these endings may be news, too
COREFUD = (".conllu", ".conllu.gz")
CONLL2012 = (".conll", "_conll", ".conll.gz", "_conll.gz")

# News: tables, a text in a file, NITF XML, and archives of it.
SEPARATED = (".csv", ".csv.gz")
WORKBOOKS = (".xlsx",)
TEXTS = (".txt", ".txt.gz")
MARKUP = (".xml", ".xml.gz")
ARCHIVES = (".tgz", ".tar.gz", ".tar")
NEWS_ALONE = (*SEPARATED, *WORKBOOKS, *TEXTS, *MARKUP, *ARCHIVES)  # files of nothing but news
NEWS = (*SCORED, *NEWS_ALONE)
