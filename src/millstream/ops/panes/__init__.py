"""Stores of panes: rows are reduced once, and the window aggregates of many queries are answered from what is kept."""
