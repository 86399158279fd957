"""Ratios against other programs, memory, coverage, and the paper: all measured, none tested."""
