"""Placed lines to blocks in reading order: columns, paragraphs, tables, headings. Hides all geometry."""

from winnowd.layout.grouping import blocks
from winnowd.layout.headings import body_size, with_headings

__all__ = ["blocks", "body_size", "with_headings"]
