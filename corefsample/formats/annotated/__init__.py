"""Annotated corpora: CorefUD (CoNLL-U) and CoNLL-2012."""
