"""The posterior of a document's entities: antecedents, draws of a recalibration, and samples."""
