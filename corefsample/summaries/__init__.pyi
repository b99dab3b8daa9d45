from ._document_links import DocumentLinks as DocumentLinks
from ._document_links import EntitySource as EntitySource
from ._document_links import document_links as document_links
from ._entity_counts import EntityCountLaw as EntityCountLaw
from ._entity_counts import entity_count_law as entity_count_law
