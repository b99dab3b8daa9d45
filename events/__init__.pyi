from .counting import CountTally as CountTally
from .counting import EventCounter as EventCounter
from .counting import EventCounts as EventCounts
from .lexicon import Lexicon as Lexicon
from .lexicon import load_lexicon as load_lexicon
from .rules import Rule as Rule
from .rules import load_rules as load_rules
from .simulation import simulate_documents as simulate_documents
