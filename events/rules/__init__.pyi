from ._rules import Example as Example
from ._rules import Rule as Rule
from ._rules import load_presets as load_presets
from ._rules import load_rules as load_rules
from ._rules import shipped_rules as shipped_rules
