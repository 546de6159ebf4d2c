"""Compressed content of log entries, as text on every engine."""

import base64
import zlib

PACKED_PREFIX = "z:"
"""Marks packed content; JSON never begins with it."""
MIN_PACKED_CHARACTERS = 512
"""Packing shorter content saves little."""


def pack_content(content: str) -> str:
    """Compress content if that saves space, as with repetitive build logs; the result is text on every engine."""
    if len(content) < MIN_PACKED_CHARACTERS:
        return content
    small = PACKED_PREFIX + base64.b64encode(zlib.compress(content.encode())).decode()
    return small if len(small) < len(content) else content


def unpack_content(body: str) -> str:
    """The original of stored content, packed or not."""
    if body.startswith(PACKED_PREFIX):
        return zlib.decompress(base64.b64decode(body[len(PACKED_PREFIX) :])).decode()
    return body
