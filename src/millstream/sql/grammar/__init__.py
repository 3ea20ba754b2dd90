"""The grammar: the text of a statement becomes a tree of what was written."""
