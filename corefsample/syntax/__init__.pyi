from ._schemes import SCHEMES as SCHEMES
from ._words import mention_kinds as mention_kinds
