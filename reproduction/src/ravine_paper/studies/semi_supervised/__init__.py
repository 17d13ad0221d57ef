"""Semi-supervised study of the paper: errors of every method for few labels (figures 7 and 8)."""
