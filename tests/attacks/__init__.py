"""Attacks: each runs at full size as a program, and in a short form as a test."""
