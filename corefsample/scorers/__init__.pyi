from ._loading import load_scorer as load_scorer
from ._scoring import score_documents as score_documents
from .protocol import AntecedentScorer as AntecedentScorer
