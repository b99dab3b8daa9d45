from .counting._job import finalise_run as finalise_run
from .counting._job import initialise_run as initialise_run
from .counting._job import run_partition as run_partition
from .counting._options import CountOptions as CountOptions
