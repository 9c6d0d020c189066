"""Noise estimators, one idea a file, and the registry of their names."""
