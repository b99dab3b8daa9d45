"""The job of `events`: parts of a corpus, which are counted and merged into the tables of a run."""
