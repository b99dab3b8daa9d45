"""Scored and annotated documents, batches of them, and the rules that they must satisfy."""
