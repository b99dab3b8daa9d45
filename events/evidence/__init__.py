"""The evidence of documents: a row for each event that is possible, with the samples in which it is true."""
