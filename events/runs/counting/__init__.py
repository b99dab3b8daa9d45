"""The job of `events`: partitions of documents, counted and merged into the tables of a run."""
