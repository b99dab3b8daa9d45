from .clusterings import link_heat_map as link_heat_map
from .clusterings import link_network as link_network
from .reliability import calibration_error_dots as calibration_error_dots
from .reliability import reliability_axes as reliability_axes
from .reliability import reliability_figure as reliability_figure
from .style import plot as plot
from .style import save_figure as save_figure
