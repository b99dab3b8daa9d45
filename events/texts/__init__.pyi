from ._inputs import run_texts as run_texts
from ._marked import NAME as NAME
from ._marked import PLAIN as PLAIN
from ._marked import TRIGGER as TRIGGER
from ._marked import MarkedText as MarkedText
from ._marked import Marker as Marker
from ._spacing import spaced as spaced
