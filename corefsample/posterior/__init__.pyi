from ._posterior import DocumentPosterior as DocumentPosterior
