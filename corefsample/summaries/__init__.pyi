from ._document_links import DocumentLinks as DocumentLinks
from ._document_links import document_links as document_links
from ._entity_counts import EntityCountPosterior as EntityCountPosterior
from ._entity_counts import entity_count_posterior as entity_count_posterior
