"""Recalibration of antecedent scores: a temperature and a NEW bias, fitted so that clusterings become calibrated.

There are two objectives, each a sum over documents with gold:

``"likelihood"``
    -log of the summed probability of each mention's gold antecedents: antecedents of the same gold entity, or NEW for
    the first annotated mention of its entity.
``"links-log"``
    -log of the probability of each pair of annotated mentions' gold label, by the exact link marginals.

Some of gold is left out and counted (`GoldCounts`):

- A document without an annotated mention is not used.
- A mention without a gold entity has no term. As a candidate it is neither right nor wrong: the likelihood removes it
  and renormalises the mention's other candidates and NEW; link scores leave its pairs out, but links may pass through
  it. With ``unannotated="single"`` such mentions are entities of their own instead, for corpora that do not annotate
  singletons.
- A mention with earlier mentions of its gold entity, none of them among the candidates, has no term in the likelihood:
  its probability is 0 at every temperature. Link scores keep its pairs.
"""

from corefsample._lazy import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
