"""Laws that run whole engines several times, with files: fewer examples in each profile."""

from hypothesis import settings

costly = settings(max_examples=max(2, settings().max_examples // 4))
