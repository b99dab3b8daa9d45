from .counting._options import CountOptions as CountOptions
from .counting._run import missing_parts as missing_parts
