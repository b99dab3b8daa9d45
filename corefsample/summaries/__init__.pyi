from ._alternatives import credible_ball as credible_ball
from ._alternatives import most_probable_clusterings as most_probable_clusterings
from ._confident_cores import cluster_probability as cluster_probability
from ._confident_cores import confident_core as confident_core
from ._document_links import document_links as document_links
from ._document_links import entity_count_posterior as entity_count_posterior
from ._losses import expected_loss as expected_loss
from ._point_estimate import point_estimate as point_estimate
