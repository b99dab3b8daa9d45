from ._schemes import SCHEMES as SCHEMES
