from ._parses import Parse as Parse
from ._parses import sample_parses as sample_parses
