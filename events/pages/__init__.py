"""HTML pages, each one file without a network: the report of a run, and the page on which a sheet is labelled."""
