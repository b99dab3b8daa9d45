"""The posterior of a document's entities: weighted parses, their antecedents, and draws of a recalibration."""
