"""The meaning of the words: pattern, punctuation, progress, window. Standard library only."""
