from ._english import english_model as english_model
from ._model import AntecedentModel as AntecedentModel
from ._model import score_documents as score_documents
from ._model_file import load_model as load_model
from ._model_file import save_model as save_model
