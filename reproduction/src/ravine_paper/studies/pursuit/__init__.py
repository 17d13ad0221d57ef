"""Figures of the paper on the pursuit itself: the choice of alpha, and the evolution of the projection."""
