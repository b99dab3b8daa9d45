from ._posterior import DocPosterior as DocPosterior
