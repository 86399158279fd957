"""Maximisation of the likelihood: EM, and what makes it fast."""
