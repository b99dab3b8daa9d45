"""Studies of taggers and classifiers on real corpora and on simulated news; `benchmarks/studies.py` runs them."""
