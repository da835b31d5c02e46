"""Reads the web pages and texts that a Word file carries whole (`w:altChunk`, ECMA-376 part 1, 17.17.2.1).

Programs that make Word files out of web pages leave the text in this form; Word takes it in when the file is first saved.
"""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message

from winnowd.extract.decode import decode
from winnowd.extract.text import paragraphs
from winnowd.model import Block

SUFFIXES = (".htm", ".html", ".xhtml", ".mht", ".mhtml", ".txt")
"""Names of the parts that are read; a Word file inside a Word file is not."""


def chunk_blocks(name: str, data: bytes, fallback: str) -> Iterator[Block]:
    """The blocks of one such part, by its name in small letters; none where it is of another kind."""
    if name.endswith((".mht", ".mhtml")):
        data = _page(message_from_bytes(data))
    if name.endswith(".txt"):
        yield from (Block("paragraph", text, page=0) for text in paragraphs(decode(data, fallback).text))
    elif name.endswith(SUFFIXES):
        from winnowd.extract.html import page_blocks  # with its libraries, which few Word files need

        yield from page_blocks(data, fallback)


def _page(message: Message) -> bytes:
    """The first web page of a web archive (RFC 2557)."""
    for part in message.walk():
        if part.get_content_type() == "text/html":
            body = part.get_payload(decode=True)
            return body if isinstance(body, bytes) else b""
    return b""
