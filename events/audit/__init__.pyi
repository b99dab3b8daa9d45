from ._totals import DEFAULT_METHOD as DEFAULT_METHOD
from ._totals import METHODS as METHODS
from ._totals import Method as Method
from ._totals import TotalEstimate as TotalEstimate
from ._totals import estimate_total as estimate_total
