from ._arcs import ArcDistribution as ArcDistribution
