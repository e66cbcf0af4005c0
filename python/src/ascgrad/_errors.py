"""What the package raises."""

from __future__ import annotations

import enum
from typing import Optional


class Status(enum.IntEnum):
    """What went wrong, as the library has it."""

    OK, ARG, MEMORY, IO, FORMAT, STATE, NONFINITE, INTERRUPTED = range(8)


class Error(Exception):
    """What the library refuses, or fails at: `status`, the `op` or function, the `argument` where it is about one."""

    def __init__(
        self, message: str, status: Status = Status.ARG, op: Optional[str] = None, argument: Optional[str] = None
    ):
        super().__init__(message)
        place = message.partition(":")[0]
        self.status, self.op = Status(status), op or (place if place.isidentifier() else None)
        self.argument = argument

    def __reduce__(self):
        return type(self), (self.args[0], self.status, self.op, self.argument)

    def __str__(self):
        return str(self.args[0])


class ArgumentError(Error, ValueError):
    """An argument is wrong: shape, dtype, range, name."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type or dtype that is not taken."""


class ArgumentIndexError(ArgumentError, IndexError):
    """An index is none of the tensor's."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class FileError(Error, OSError):
    """A file could not be opened, read, written or renamed."""


class FormatError(Error, ValueError):
    """A file was read, but its content is not what it should be."""


class StateError(Error, RuntimeError):
    """The call comes at the wrong time: a graph that was used, a value that was overwritten."""


class NonFiniteError(Error, FloatingPointError):
    """A value that had to be finite is not."""


class InterruptedCall(Error):
    """The call was stopped."""


CLASSES = {
    Status.ARG: ArgumentError,
    Status.MEMORY: OutOfMemoryError,
    Status.IO: FileError,
    Status.FORMAT: FormatError,
    Status.STATE: StateError,
    Status.NONFINITE: NonFiniteError,
    Status.INTERRUPTED: InterruptedCall,
}
