"""Studies of taggers and classifiers on real corpora and on simulated news; `benchmarks/studies.py` runs them."""

from tagger_studies import classification, figure_one, newswire, simulated_claims, sparse_tags, tweets

STUDIES = {
    "tagging": newswire.run,
    "tweets": tweets.run,
    "classification": classification.run,
    "sparse-tags": sparse_tags.run,
    "figure1": figure_one.run,
    "simulated-claims": simulated_claims.run,
}
