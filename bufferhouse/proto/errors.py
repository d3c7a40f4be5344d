"""The one error of a proto, and how a message is opened."""

from typing import TypeVar

Message = TypeVar("Message")
# A hostile message takes forty times its bytes; those of real programs have under 1 MB.
MOST_ASSIGNMENT_BYTES = 32 << 20
MOST_MODULE_BYTES = 128 << 20  # its instructions are opened one by one


class ProtoError(ValueError):
    """Bytes that are no proto of a buffer assignment: what was expected and what was found."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.found = found

    def __reduce__(self) -> tuple:
        return ProtoError, (self.expected, self.found)


def opened(message: type[Message], data: bytes, most_bytes: int) -> Message:
    """Return a message of its bytes.

    Raises:
        ProtoError: they are damaged, cut, nested too deep, or more than `most_bytes`.
    """
    from google.protobuf.message import DecodeError

    name = message.DESCRIPTOR.name  # type: ignore[attr-defined]
    if len(data) > most_bytes:
        raise ProtoError(f"at most {most_bytes} bytes of {name}", f"{len(data)}")
    try:
        return message.FromString(data)  # type: ignore[attr-defined]
    except DecodeError:
        raise ProtoError(f"a message {name} (xla/service/hlo.proto)", "damaged or cut bytes") from None
