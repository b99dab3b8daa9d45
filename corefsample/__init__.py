"""Sampling and exact inference of entity clusterings from antecedent distributions.

Names load where they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from corefsample.annotated import AnnotatedDocument as AnnotatedDocument
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
    from corefsample.formats.conll2012 import read_conll2012 as read_conll2012
    from corefsample.formats.conll2012 import write_conll2012 as write_conll2012
    from corefsample.formats.corefud import read_corefud as read_corefud
    from corefsample.formats.corefud import write_corefud as write_corefud
    from corefsample.graphs import to_networkx as to_networkx
    from corefsample.links import link_pairs as link_pairs
    from corefsample.links import link_tables as link_tables
    from corefsample.metrics import clustering_scores as clustering_scores
    from corefsample.metrics import metric_posterior as metric_posterior
    from corefsample.recalibration import Recalibration as Recalibration
    from corefsample.recalibration import fit_recalibration as fit_recalibration
    from corefsample.sampling import ClusteringSamples as ClusteringSamples
    from corefsample.sampling import sample_clusterings as sample_clusterings

__version__ = "0.1.0"

_MODULES = {
    "AnnotatedDocument": "annotated",
    "AntecedentDistribution": "antecedents",
    "ClusteringSamples": "sampling",
    "CorefsampleError": "errors",
    "InputError": "errors",
    "OutputError": "errors",
    "ParameterError": "errors",
    "Pruned": "antecedents",
    "Recalibration": "recalibration",
    "ScoredDocument": "documents",
    "Tokens": "documents",
    "clustering_log_prob": "exact",
    "clustering_scores": "metrics",
    "entity_count_pmf": "exact",
    "fit_recalibration": "recalibration",
    "link_marginals": "exact",
    "link_pairs": "links",
    "link_tables": "links",
    "map_clustering": "exact",
    "metric_posterior": "metrics",
    "poisson_binomial_pmf": "exact",
    "read_conll2012": "formats.conll2012",
    "read_corefud": "formats.corefud",
    "read_documents": "formats",
    "root_posterior": "exact",
    "sample_clusterings": "sampling",
    "to_networkx": "graphs",
    "write_conll2012": "formats.conll2012",
    "write_corefud": "formats.corefud",
    "write_documents": "formats",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
