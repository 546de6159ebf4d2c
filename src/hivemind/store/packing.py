"""What agents saw, made small: build logs and file contents repeat themselves."""

import base64
import zlib

MARK = "z:"
"""JSON never begins with it."""
SHORTEST = 512
"""Below this there is little to gain."""


def packed(content: str) -> str:
    """The content as it is kept: as text, because every engine keeps that alike."""
    if len(content) < SHORTEST:
        return content
    small = MARK + base64.b64encode(zlib.compress(content.encode())).decode()
    return small if len(small) < len(content) else content


def unpacked(kept: str) -> str:
    """The content that was kept."""
    if kept.startswith(MARK):
        return zlib.decompress(base64.b64decode(kept[len(MARK) :])).decode()
    return kept
