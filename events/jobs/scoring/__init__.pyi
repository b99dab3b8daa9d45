from ._run import PARTS_SUFFIX as PARTS_SUFFIX
from ._run import RECORD_SUFFIX as RECORD_SUFFIX
from ._run import ScoreOptions as ScoreOptions
from ._run import ScoringRun as ScoringRun
from ._run import load_recalibration as load_recalibration
from ._run import run_score as run_score
