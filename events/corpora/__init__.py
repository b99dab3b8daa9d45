"""Documents of a corpus of any kind, as they are read, and as they are written and scored with one clustering."""
