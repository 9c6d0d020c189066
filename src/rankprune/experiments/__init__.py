"""The experiments behind the claims of this project, each printed by one command."""
