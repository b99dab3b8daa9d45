from .log_linear._english import english_model as english_model
from .log_linear._model import AntecedentModel as AntecedentModel
from .log_linear._model import score_documents as score_documents
from .log_linear._model_file import load_model as load_model
from .log_linear._model_file import save_model as save_model
