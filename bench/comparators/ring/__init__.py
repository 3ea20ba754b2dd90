"""The ring of the state-slice thesis, taken literally: nodes, links and tokens, message by message; and its rivals."""
