"""Languages: the resources of each language, in a folder of its own, and the declared language of a document."""
