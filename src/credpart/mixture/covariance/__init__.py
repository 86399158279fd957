"""Covariance structures of mixture components."""
