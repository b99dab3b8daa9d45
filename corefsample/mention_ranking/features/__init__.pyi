from ._mention_kinds import mention_kinds as mention_kinds
