"""A trainable model of each mention's antecedent, after Durrett & Klein (2013), and the English model that ships."""
