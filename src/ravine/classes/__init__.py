"""Classes: their labels, their pairs, and probabilities."""
