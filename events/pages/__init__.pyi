from ._embedding import embedded_json as embedded_json
from ._embedding import packed as packed
from ._embedding import packed_parts as packed_parts
from ._names import shown_name as shown_name
from ._rendering import Sources as Sources
from ._rendering import bundled as bundled
from ._rendering import rendered as rendered
