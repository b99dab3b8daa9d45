from . import (
    adapters as adapters,
    calibration as calibration,
    errors as errors,
    formats as formats,
    links as links,
    metrics as metrics,
    parses as parses,
    plots as plots,
    recalibration as recalibration,
    scorers as scorers,
    spacy_bridge as spacy_bridge,
    summaries as summaries,
    tagging as tagging,
    trees as trees,
)
from .coreference._antecedents import AntecedentDistribution as AntecedentDistribution
from .coreference._clusterings import (
    clustering_log_prob as clustering_log_prob,
    entity_count_pmf as entity_count_pmf,
    link_marginals as link_marginals,
    map_clustering as map_clustering,
    root_posterior as root_posterior,
    sample_clusterings as sample_clusterings,
)
from .documents._scored import ScoredDocument as ScoredDocument
from .documents._tokens import Tokens as Tokens
from .errors import (
    CorefsampleError as CorefsampleError,
    InputError as InputError,
    OutputError as OutputError,
    ParameterError as ParameterError,
)
from .formats.annotated._conll2012 import read_conll2012 as read_conll2012, write_conll2012 as write_conll2012
from .formats.annotated._corefud import read_corefud as read_corefud, write_corefud as write_corefud
from .formats.scored._stream import read_documents as read_documents
from .formats.scored._writing import write_documents as write_documents
from .links._calibration import link_tables as link_tables
from .metrics._scores import clustering_scores as clustering_scores, metric_posterior as metric_posterior
from .recalibration._model import Recalibration as Recalibration

__version__: str
