"""One small file an aggregate: its partial, how partials combine, and what they answer."""
