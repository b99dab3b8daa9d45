from ._countries import SimulatedCountry as SimulatedCountry
from ._countries import default_countries as default_countries
from ._documents import SimulatedDocument as SimulatedDocument
from ._documents import simulate_documents as simulate_documents
