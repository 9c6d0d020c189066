"""Noise estimators, one idea per file, and the registry of their names."""
