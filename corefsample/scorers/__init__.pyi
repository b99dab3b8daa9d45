from .log_linear._english import english_model as english_model
from .log_linear._model import score_documents as score_documents
from .log_linear._model_file import load_antecedent_model as load_antecedent_model
