"""The data that pytorch.py trains on: what common/data reads, or numbers of the same distributions."""

import gzip
import math
import pathlib
import struct
import subprocess

try:
    import torch
except ImportError:
    torch = None


class BadInput(Exception):
    """One line that says what was wrong and what would be right."""


def read_idx(folder, stem):
    """The bytes of an IDX file, plain or gzip: two zeros, type 8, the rank and the extents."""
    for path, opened in ((folder / stem, open), (folder / f"{stem}.gz", gzip.open)):
        if path.exists():
            break
    else:
        raise BadInput(f"--data {folder}: no {stem} there, nor with .gz")
    try:
        with opened(path, "rb") as file:
            content = file.read()
        extents = struct.unpack_from(f">{content[3]}I", content, 4)
        values = bytearray(content[4 + 4 * len(extents) :])
        if content[:3] != b"\0\0\x08" or len(values) != math.prod(extents):
            raise ValueError("no IDX file of bytes")
    except (OSError, EOFError, ValueError, IndexError, struct.error) as error:
        raise BadInput(f"--data: {path}: {error}") from None
    return torch.frombuffer(values, dtype=torch.uint8).reshape(extents)


def synthetic_images(count, classes, shape=(28, 28)):
    """Like trainbench's: a quarter of the class's prototype, three quarters noise."""
    labels = torch.arange(count) % classes
    prototypes = torch.randint(0, 256, (classes, *shape), dtype=torch.int32)
    noise = torch.randint(0, 256, (count, *shape), dtype=torch.int32)
    return ((prototypes[labels] + 3 * noise) // 4).to(torch.uint8), labels


def images28(source, count, _):
    """That many training images and labels, in an order of their own."""
    if source == "synthetic":
        return synthetic_images(count, 10)
    folder = pathlib.Path(source)
    images = read_idx(folder, "train-images-idx3-ubyte")
    labels = read_idx(folder, "train-labels-idx1-ubyte")
    if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1]:
        raise BadInput(f"--data {folder}: not 28 x 28 images with a label each")
    epochs = math.ceil(count / len(images))
    order = torch.cat([torch.randperm(len(images)) for _ in range(epochs)])[:count]
    return images[order], labels[order].long()


def images32(source, count, _):
    """The same with a margin of zeros, as [images, 1, 32, 32]."""
    if source == "synthetic":
        return synthetic_images(count, 10, (1, 32, 32))
    images, labels = images28(source, count, None)
    return torch.nn.functional.pad(images, (2, 2, 2, 2))[:, None], labels


def images224(source, count, _):
    """Records of a label in 16 bits and 224 x 224 pixels of three bytes, from train*.bin."""
    if source == "synthetic":
        return synthetic_images(count, 1000, (3, 224, 224))
    files = sorted(pathlib.Path(source).glob("train*.bin"))
    if not files:
        raise BadInput(f"--data {source}: no train*.bin there")
    pixels = 224 * 224 * 3
    record = 2 + pixels
    content = bytearray().join(file.read_bytes() for file in files)
    if not content or len(content) % record != 0:
        raise BadInput(f"--data {source}: train*.bin is not records of {record} bytes")
    records = torch.frombuffer(content, dtype=torch.uint8).reshape(-1, record)
    records = records[torch.arange(count) % len(records)]
    images = records[:, 2:].reshape(-1, 224, 224, 3).permute(0, 3, 1, 2)
    return images, records[:, 0].long() + 256 * records[:, 1].long()


def windows(sequence, length, count):
    """That many stretches of a sequence, at random places."""
    starts = torch.randint(0, len(sequence) - length, (count,))
    return torch.stack([sequence[start : start + length] for start in starts.tolist()])


def read_text(source):
    try:
        if source != "bible-kjv":
            return pathlib.Path(source).read_bytes()
        command = ["bible", "-f", "gen1:1-rev22:21"]
        return subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInput(f"--data: {source}: {error}") from None


def text(source, count, sizes):
    """Bytes of a file of text, or random ones."""
    length = sizes["sequence"] + 1
    if source == "synthetic":
        return torch.randint(0, sizes["vocabulary"], (count, length), dtype=torch.uint8), None
    content = bytearray(read_text(source))
    if len(content) <= length:
        raise BadInput(f"--data: {source}: no more than {length} bytes, the length of a sample")
    return windows(torch.frombuffer(content, dtype=torch.uint8), length, count), None


def tokens(_, count, sizes):
    """Random tokens: what they are makes no difference to the time of a step."""
    shape = (count, sizes["sequence"] + 1)
    return torch.randint(0, sizes["vocabulary"], shape, dtype=torch.int32), None


DATA = {
    "images28": images28,
    "images32": images32,
    "images224": images224,
    "text": text,
    "tokens": tokens,
}
