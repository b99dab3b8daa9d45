from ._content import LexiconContent as LexiconContent
from ._file import SHIPPED as SHIPPED
from ._file import SHIPPED_LEXICONS as SHIPPED_LEXICONS
from ._file import lexicon_content as lexicon_content
from ._lexicon import Lexicon as Lexicon
from ._lexicon import LexiconMatches as LexiconMatches
from ._lexicon import load_lexicon as load_lexicon
