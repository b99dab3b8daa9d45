"""Entity queries of annotated documents, which test whether intervals of counts cover the truth."""
