from ._sampling import parse_samples as parse_samples
