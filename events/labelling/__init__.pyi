from ._page import LABEL_SOURCES as LABEL_SOURCES
from ._page import default_question as default_question
from ._page import rendered_sheet as rendered_sheet
