"""Experiments: what the claims of this project rest on, each printed by one command."""
