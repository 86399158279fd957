"""Families of component distributions."""
