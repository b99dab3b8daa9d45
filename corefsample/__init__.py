"""Sampling and exact inference of entity clusterings from antecedent distributions.

Names load where they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from corefsample.antecedents import AntecedentDistribution as AntecedentDistribution
    from corefsample.antecedents import Pruned as Pruned
    from corefsample.documents import ScoredDocument as ScoredDocument
    from corefsample.documents import Tokens as Tokens
    from corefsample.errors import CorefsampleError as CorefsampleError
    from corefsample.errors import InputError as InputError
    from corefsample.errors import OutputError as OutputError
    from corefsample.errors import ParameterError as ParameterError
    from corefsample.exact import clustering_log_prob as clustering_log_prob
    from corefsample.exact import entity_count_pmf as entity_count_pmf
    from corefsample.exact import link_marginals as link_marginals
    from corefsample.exact import map_clustering as map_clustering
    from corefsample.exact import poisson_binomial_pmf as poisson_binomial_pmf
    from corefsample.exact import root_posterior as root_posterior
    from corefsample.formats import read_documents as read_documents
    from corefsample.formats import write_documents as write_documents
    from corefsample.graphs import to_networkx as to_networkx
    from corefsample.sampling import ClusteringSamples as ClusteringSamples
    from corefsample.sampling import sample_clusterings as sample_clusterings

__version__ = "0.1.0"

_MODULES = {
    "AntecedentDistribution": "antecedents",
    "ClusteringSamples": "sampling",
    "CorefsampleError": "errors",
    "InputError": "errors",
    "OutputError": "errors",
    "ParameterError": "errors",
    "Pruned": "antecedents",
    "ScoredDocument": "documents",
    "Tokens": "documents",
    "clustering_log_prob": "exact",
    "entity_count_pmf": "exact",
    "link_marginals": "exact",
    "map_clustering": "exact",
    "poisson_binomial_pmf": "exact",
    "read_documents": "formats",
    "root_posterior": "exact",
    "sample_clusterings": "sampling",
    "to_networkx": "graphs",
    "write_documents": "formats",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
