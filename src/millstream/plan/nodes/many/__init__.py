"""Nodes that read many streams at once."""
