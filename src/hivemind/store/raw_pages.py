"""Reads rows straight from the pages of a store's file, where its header, schema or inner pages may be damaged.

Only leaf pages are read, because each of them is complete in itself. Nothing says which table a page belongs to, so the
caller recognises rows by their shape. The format: https://sqlite.org/fileformat2.html.
"""

import itertools
import mmap
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PAGE_BYTES = 4096
"""SQLite's default, which we never change."""
TABLE_LEAF, INDEX_LEAF = 13, 10
MIN_LOCAL_BYTES = (PAGE_BYTES - 12) * 32 // 255 - 23
MAX_LOCAL_BYTES = {TABLE_LEAF: PAGE_BYTES - 35, INDEX_LEAF: (PAGE_BYTES - 12) * 64 // 255 - 23}
"""Bytes of a row that stand in its leaf page; the rest of a longer one is in overflow pages."""
INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
"""By serial type."""
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
BIG_ENDIAN_MAGIC = 0x377F0683


class StoredRow(NamedTuple):
    """A row as it is stored."""

    key: int | None
    """None in a table without row ids."""
    values: tuple[Any, ...]
    """None in the place of an integer primary key, which is the key."""


class WalFrame(NamedTuple):
    """A page in the write-ahead log."""

    page: int
    content: bytes
    is_commit: bool
    is_intact: bool
    """Whether its checksum matches that of the frame before."""


def read_rows(file: Path) -> Iterator[StoredRow]:
    """Yield every row that can be read from the file and its write-ahead log; damaged ones may be wrong."""
    newer_pages: dict[int, bytes] = {}
    transaction: dict[int, bytes] = {}
    for frame in read_frames(file):
        transaction[frame.page] = frame.content
        if frame.is_commit:
            newer_pages |= transaction
            transaction = {}
    if not file.stat().st_size:
        return
    with file.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
        pages = _Pages(content, newer_pages)
        for number in range(1, max(len(content) // PAGE_BYTES, *newer_pages, 0) + 1):
            yield from _read_leaf(pages, number)


def has_damaged_frames(file: Path) -> bool:
    """Whether transactions stand in the write-ahead log after a damaged frame, where SQLite stops reading."""
    frames = itertools.dropwhile(lambda frame: frame.is_intact, read_frames(file))
    return any(frame.is_commit for frame in frames)


def read_frames(file: Path) -> Iterator[WalFrame]:
    """Yield the frames of the file's write-ahead log that belong to its present content, damaged ones too."""
    log = file.with_name(f"{file.name}-wal")
    if not log.is_file():
        return
    with log.open("rb") as raw:
        header = raw.read(WAL_HEADER_BYTES)
        if len(header) < WAL_HEADER_BYTES:
            return
        order = ">" if int.from_bytes(header[:4]) == BIG_ENDIAN_MAGIC else "<"
        checksum, salts = _add_to_checksum((0, 0), header[:24], order), header[16:24]
        while len(frame := raw.read(FRAME_HEADER_BYTES + PAGE_BYTES)) == FRAME_HEADER_BYTES + PAGE_BYTES:
            # Frames with other salts are left from before the log began anew.
            if frame[8:16] != salts:
                return
            page, size = struct.unpack_from(">II", frame)
            content = frame[FRAME_HEADER_BYTES:]
            checksum = _add_to_checksum(checksum, frame[:8] + content, order)
            stored_checksum = struct.unpack_from(">II", frame, 16)
            yield WalFrame(page, content, size > 0, checksum == stored_checksum)
            # So that one damaged frame does not make the ones after it look damaged, too.
            checksum = stored_checksum


class _Pages(NamedTuple):
    content: mmap.mmap
    newer: Mapping[int, bytes]

    def read(self, number: int) -> bytes:
        return self.newer.get(number) or self.content[(number - 1) * PAGE_BYTES : number * PAGE_BYTES]


def _read_leaf(pages: _Pages, number: int) -> Iterator[StoredRow]:
    page = pages.read(number)
    start = 100 if number == 1 else 0
    if len(page) < PAGE_BYTES or page[start] not in MAX_LOCAL_BYTES:
        return
    cell_count = int.from_bytes(page[start + 3 : start + 5])
    for place in range(start + 8, min(start + 8 + 2 * cell_count, PAGE_BYTES - 1), 2):
        try:
            yield _read_cell(pages, page, page[start], int.from_bytes(page[place : place + 2]))
        except (IndexError, ValueError, struct.error):
            # Damaged; the other rows of the page may be whole.
            continue


def _read_cell(pages: _Pages, page: bytes, kind: int, place: int) -> StoredRow:
    length, place = _read_varint(page, place)
    key = None
    if kind == TABLE_LEAF:
        key, place = _read_varint(page, place)
        key = key - (1 << 64) if key >= 1 << 63 else key
    if length > len(pages.content) + len(pages.newer) * PAGE_BYTES:
        raise ValueError("longer than the file")
    local_bytes = length
    if length > MAX_LOCAL_BYTES[kind]:
        local_bytes = MIN_LOCAL_BYTES + (length - MIN_LOCAL_BYTES) % (PAGE_BYTES - 4)
        local_bytes = local_bytes if local_bytes <= MAX_LOCAL_BYTES[kind] else MIN_LOCAL_BYTES
    payload = bytearray(page[place : place + local_bytes])
    next_page = int.from_bytes(page[place + local_bytes : place + local_bytes + 4])
    while len(payload) < length:
        overflow = pages.read(next_page) if next_page else b""
        if len(overflow) < PAGE_BYTES:
            raise ValueError("a page is missing")
        payload += overflow[4 : 4 + length - len(payload)]
        next_page = int.from_bytes(overflow[:4])
    return StoredRow(key, tuple(_read_values(bytes(payload))))


def _read_values(record: bytes) -> Iterator[Any]:
    header_bytes, place = _read_varint(record, 0)
    value_place = header_bytes
    while place < header_bytes:
        serial_type, place = _read_varint(record, place)
        match serial_type:
            case 0:
                yield None
            case 8 | 9:
                yield serial_type - 8
            case 7:
                yield struct.unpack_from(">d", record, value_place)[0]
                value_place += 8
            case 1 | 2 | 3 | 4 | 5 | 6:
                end = value_place + INTEGER_BYTES[serial_type]
                yield int.from_bytes(record[value_place:end], signed=True)
                value_place = end
            case _:
                end = value_place + (serial_type - 12) // 2
                content = record[value_place:end]
                if serial_type < 12 or end > len(record):
                    raise ValueError("not a value")
                yield content.decode() if serial_type % 2 else content
                value_place = end


def _read_varint(content: bytes, place: int) -> tuple[int, int]:
    """Read a number of 1 to 9 bytes; returns it with the place after it."""
    value = 0
    for count in range(8):
        byte = content[place + count]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + count + 1
    return value << 8 | content[place + 8], place + 9


def _add_to_checksum(checksum: tuple[int, int], content: bytes, order: str) -> tuple[int, int]:
    first, second = checksum
    for low, high in struct.iter_unpack(f"{order}II", content):
        first = first + low + second & 0xFFFFFFFF
        second = second + high + first & 0xFFFFFFFF
    return first, second
