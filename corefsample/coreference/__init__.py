"""Antecedent distributions: validation, sampling of clusterings, exact inference, graphs."""
