from ._matching import MentionMatches as MentionMatches
from ._matching import ambiguous_labels as ambiguous_labels
from ._matching import match_document as match_document
from ._matching import readable_schemes as readable_schemes
from ._screening import Screen as Screen
