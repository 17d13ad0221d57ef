"""Figure of the paper on convergence: from minimum density to maximum margin (Theorem 5)."""
