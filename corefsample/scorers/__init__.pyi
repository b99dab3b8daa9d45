from ._loading import load_scorer as load_scorer
from ._scoring import score_documents as score_documents
from .log_linear._model import AntecedentModel as AntecedentModel
from .protocol import AntecedentScorer as AntecedentScorer
