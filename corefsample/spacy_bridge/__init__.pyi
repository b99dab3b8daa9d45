from ._parse_samples import ParseSampler as ParseSampler
from ._parse_samples import parse_samples as parse_samples
from ._parse_samples import parse_temperature as parse_temperature
from ._posterior import DocPosterior as DocPosterior
