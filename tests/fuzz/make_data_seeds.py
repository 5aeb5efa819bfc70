#!/usr/bin/env python3
"""Writes the seeds of fuzz_data into the folder given: records of 2 x 3 pixels, tokens and text."""

import pathlib
import struct
import sys

PIXELS = bytes(range(18))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {
        "planar": b"\x03" + PIXELS + b"\x09" + PIXELS,
        "label-16": b"\x07\x00" + PIXELS,
        "wrong-label": b"\x0a" + PIXELS,
        "cut-off": b"\x01" + PIXELS[:-1],
        "tokens-16": struct.pack("<4H", 0, 1, 50256, 7),
        "tokens-32": struct.pack("<3i", 50256, 0, 12),
        "wrong-token": struct.pack("<2i", -1, 50257),
        "text": b"In the beginning God created the heaven and the earth.\n",
        "latin": "caf\u00e9".encode("latin-1"),
        "empty": b"",
    }
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
