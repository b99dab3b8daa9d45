"""A trainable model of each mention's antecedent, after Durrett & Klein (2013), and the English model that ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from corefsample.mention_ranking.english import english_model as english_model
    from corefsample.mention_ranking.model import AntecedentModel as AntecedentModel
    from corefsample.mention_ranking.model import ScoringTally as ScoringTally
    from corefsample.mention_ranking.model import score_documents as score_documents
    from corefsample.mention_ranking.model_file import load_model as load_model
    from corefsample.mention_ranking.model_file import save_model as save_model
    from corefsample.mention_ranking.templates import DEFAULT_TEMPLATES as DEFAULT_TEMPLATES
    from corefsample.mention_ranking.templates import TemplateSet as TemplateSet
    from corefsample.mention_ranking.training import EpochReport as EpochReport
    from corefsample.mention_ranking.training import HeldOutFigures as HeldOutFigures
    from corefsample.mention_ranking.training import SoftmaxMargin as SoftmaxMargin
    from corefsample.mention_ranking.training import held_out_figures as held_out_figures
    from corefsample.mention_ranking.training import train as train

_MODULES = {
    "AntecedentModel": "model",
    "DEFAULT_TEMPLATES": "templates",
    "EpochReport": "training",
    "HeldOutFigures": "training",
    "ScoringTally": "model",
    "SoftmaxMargin": "training",
    "TemplateSet": "templates",
    "english_model": "english",
    "held_out_figures": "training",
    "load_model": "model_file",
    "save_model": "model_file",
    "score_documents": "model",
    "train": "training",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
