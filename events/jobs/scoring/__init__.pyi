from ._options import ScoreOptions as ScoreOptions
from ._options import ScoringOptions as ScoringOptions
from ._parsing import load_pipeline as load_pipeline
from ._recalibration import load_recalibration as load_recalibration
from ._run import ScoringRun as ScoringRun
from ._run import run_score as run_score
