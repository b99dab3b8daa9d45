from ._rules import shipped_rules as shipped_rules
