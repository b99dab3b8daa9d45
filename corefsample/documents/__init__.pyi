from ._scored import Parse as Parse
from ._scored import sample_parses as sample_parses
