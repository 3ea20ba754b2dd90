"""Operators: columnar state machines, one a file. Tables in, tables out; progress in, progress out."""
