from ._credible_balls import credible_ball as credible_ball
from ._document_links import (
    cluster_probability as cluster_probability,
    document_links as document_links,
    entity_count_posterior as entity_count_posterior,
)
from ._expected_losses import expected_loss as expected_loss, point_estimate as point_estimate
