"""Studies of taggers and classifiers on real corpora and on simulated news; `benchmarks/studies.py` runs them."""

from tagger_studies import (
    classification,
    figure_one,
    newswire,
    simulated_claims,
    sparse_tags,
    tag_groups,
    thesis_newswire,
    tweets,
)

STUDIES = {
    "tagging": newswire.run,
    "tweets": tweets.run,
    "classification": classification.run,
    "sparse-tags": sparse_tags.run,
    "figure1": figure_one.run,
    "simulated-claims": simulated_claims.run,
    "newswire": thesis_newswire.run,
    "tag-groups": tag_groups.run,
}
