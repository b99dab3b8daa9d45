from .scored._stream import DocumentStream as DocumentStream
