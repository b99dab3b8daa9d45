from .clusterings import link_heat_map as link_heat_map, link_network as link_network
from .reliability import (
    calibration_error_dots as calibration_error_dots,
    reliability_axes as reliability_axes,
    reliability_figure as reliability_figure,
)
from .style import plot as plot, save_figure as save_figure
