#!/usr/bin/env python3
"""Writes the seeds of fuzz_idx into the folder given: small IDX files, right and wrong."""

import gzip
import pathlib
import struct
import sys


def idx(extents, values, kind=8):
    header = bytes([0, 0, kind, len(extents)]) + struct.pack(f">{len(extents)}I", *extents)
    return header + bytes(values)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    plain = {
        "images": idx([2, 4, 3], range(24)),
        "labels": idx([10], range(10)),
        "truncated": idx([2, 4, 3], range(23)),
        "trailing": idx([10], range(11)),
        "floats": idx([1], range(4), kind=0x0D),
        "absurd": idx([2**32 - 1] * 3, []),
        "large": idx([2**32 - 1], range(100)),
        "empty": b"",
    }
    for name, data in plain.items():
        (folder / name).write_bytes(data)
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
