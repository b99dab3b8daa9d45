from ._encoding import mention_kinds as mention_kinds
