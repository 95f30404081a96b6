"""Turns a definition into the statements that keep its stream table equal to its query."""
