from ._credible_balls import credible_ball as credible_ball
from ._document_links import cluster_probability as cluster_probability
from ._document_links import document_links as document_links
from ._document_links import entity_count_posterior as entity_count_posterior
from ._expected_losses import expected_loss as expected_loss
from ._expected_losses import point_estimate as point_estimate
