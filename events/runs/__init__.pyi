from .counting._count_options import CountOptions as CountOptions
from .counting._count_run import missing_parts as missing_parts
