# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tensors of bfloat16 numbers, and the safetensors file that holds them."""

from __future__ import annotations

import dataclasses
import json
import random
from array import array
from collections.abc import Iterable
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Tensor:
    """``values`` row by row. Every 0 and 1 is exact in bfloat16, anything else is cut to 8 significant bits."""

    shape: tuple[int, ...]
    values: array

    def rows(self, count: int) -> Tensor:
        """The first rows of a matrix."""
        return matrix(count, self.shape[1], self.values[: count * self.shape[1]])

    def beside(self, other: Tensor) -> Tensor:
        """A matrix that has the columns of both."""
        (height, left), (_height, right) = self.shape, other.shape
        values = array("f")
        for row in range(height):
            values += self.values[row * left : (row + 1) * left] + other.values[row * right : (row + 1) * right]
        return matrix(height, left + right, values)

    def as_bfloat16(self) -> bytes:
        """Little-endian: a bfloat16 is the upper half of a 32-bit float."""
        halves = array("H", self.values.tobytes())
        return halves[1::2].tobytes()


def matrix(height: int, width: int, values: Iterable[float]) -> Tensor:
    return Tensor((height, width), array("f", values))


def vector(size: int, value: float) -> Tensor:
    return Tensor((size,), array("f", [value]) * size)


def zeros(height: int, width: int) -> Tensor:
    return matrix(height, width, array("f", [0.0]) * (height * width))


def noise(height: int, width: int, scale: float, source: random.Random) -> Tensor:
    """Normally distributed numbers."""
    return matrix(height, width, (scale * source.gauss(0, 1) for _value in range(height * width)))


def one_hot(row_of_column: list[int]) -> Tensor:
    """The matrix that sends the one-hot vector of t to the one-hot vector of row_of_column[t]."""
    size = len(row_of_column)
    result = zeros(size, size)
    for column, row in enumerate(row_of_column):
        result.values[row * size + column] = 1.0
    return result


def save(tensors: dict[str, Tensor], file: Path) -> None:
    """Write a safetensors file: the length of the header, the header, the numbers."""
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    numbers = bytearray()
    for name, tensor in tensors.items():
        begin = len(numbers)
        numbers += tensor.as_bfloat16()
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [begin, len(numbers)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(numbers))
