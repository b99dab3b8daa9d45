from ._paths import LineReader as LineReader
from ._paths import PathLike as PathLike
from ._paths import new_text_file as new_text_file
from ._paths import text_paths as text_paths
