"""The command `score`: from dated news or annotated corpora to scored mentions."""
