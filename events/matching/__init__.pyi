from ._matching import match_document as match_document
