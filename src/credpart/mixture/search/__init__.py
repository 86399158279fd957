"""The search for the best mixture: initialisation, several starts, selection."""
