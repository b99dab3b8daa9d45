from .scored import DocumentStream as DocumentStream
from .scored import QuarantineFile as QuarantineFile
from .scored import convert as convert
from .scored import quarantine_file as quarantine_file
from .scored import read_documents as read_documents
from .scored import write_documents as write_documents
