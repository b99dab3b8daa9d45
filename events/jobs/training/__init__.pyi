from ._options import TrainOptions as TrainOptions
from ._run import TrainingRun as TrainingRun
from ._run import load_templates as load_templates
from ._run import run_train as run_train
