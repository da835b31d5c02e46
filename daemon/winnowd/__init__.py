"""Winnow keeps an honest full-text index of a shared drive."""

__version__ = "0.1.0"
