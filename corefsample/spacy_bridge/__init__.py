"""spaCy: the pipeline component, the posterior of a Doc, and conversion of Docs."""
