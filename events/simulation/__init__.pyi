from ._documents import SimulatedCountry as SimulatedCountry
from ._documents import SimulatedDocument as SimulatedDocument
from ._documents import default_countries as default_countries
from ._documents import simulate_documents as simulate_documents
