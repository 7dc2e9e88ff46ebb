"""Messages between judge and child: src/judge/process/wire.h, word for word."""

import array
import socket
import struct

BYTES = 65536
TEXT_BYTES = 8192
OUTPUTS = 128
ARGUMENTS = 24
DIMENSIONS = 8

(OPEN, OPENED, MAP, MAPPED, FILL, FILLED, CALL, DONE, FAILED, BUILD, BUILT, WARM, SEGMENT,
 WAKE, AWAKE) = range(1, 16)
LOCKED = 20
REFERENCE, CANDIDATE, CASES, SIZES = 1, 2, 3, 4
COMPARED = 1
ORACLE_OR_NONE, ORACLE, NO_ORACLE = 0, 1, 2
RUN, DOUBLE, ABLATE, TRACE, WITHOUT, CHOICES, LEAVE_OUT, NOTHING, ROUNDING = range(1, 10)
(FAILED_LOAD, FAILED_RUN, FAILED_MEMORY, FAILED_UNSUPPORTED, FAILED_COMPILE, FAILED_NO_GPU,
 FAILED_NO_COMPILER, FAILED_PROBLEM) = range(1, 9)

SHIFTED, ONE_SHIFTED = 1, 2
ROLE_IN = 0
GUARD_BYTES = 256

TYPE = struct.Struct("<I")
HEAD = struct.Struct("<II")
GPU = struct.Struct("<44sI")
OPEN_BODY = struct.Struct("<IIQI44sIII32s128sII")
MAP_TAIL = struct.Struct("<QQQ")
FILL_BODY = struct.Struct("<IIQ")
WAKE_BODY = struct.Struct("<IIII")
CALL_BODY = struct.Struct("<IIQ")  # what comes behind it is for native children
ARGUMENT = struct.Struct("<IIQQIIddQ")
LAYOUT_HEAD = struct.Struct("<IIQ")
OUTPUT = struct.Struct("<QQII8q")
BUILT_HEAD = struct.Struct("<II")
PLACES = struct.Struct("<4Q")
WEIGHTS = struct.Struct("<Q")
TIMES = struct.Struct("<QQ")  # of DONE: by the own clock, and of that until calls were issued


class Channel:
    """One SOCK_SEQPACKET channel: whole messages, descriptors beside them."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)

    def send(self, message, descriptors=()):
        ancillary = []
        if descriptors:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self.socket.sendmsg([message], ancillary)

    def receive(self):
        """(message, descriptors), or (b"", []) when the judge is gone."""
        descriptors = array.array("i")
        message, ancillary, _, _ = self.socket.recvmsg(
            BYTES, socket.CMSG_SPACE(4 * descriptors.itemsize), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                usable = len(data) - len(data) % descriptors.itemsize
                descriptors.frombytes(data[:usable])
        return message, list(descriptors)


def failed(failure, text):
    """FAILED with a text, cut to what fits."""
    data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1].decode("utf-8", "ignore").encode()
    return HEAD.pack(FAILED, failure) + bytes(8) + data.ljust(TEXT_BYTES, b"\0")


def locked(layers):
    """`layers`: bits of enum sandbox_layer that hold."""
    return HEAD.pack(LOCKED, layers)


def opened(inputs, oracle=False, places=(0, 0, 0, 0), weight_bytes=0):
    """`places`: address and bytes of the description and of the values."""
    head = HEAD.pack(OPENED, int(oracle))
    return head + inputs + PLACES.pack(*places) + WEIGHTS.pack(weight_bytes)


def layout(arguments, slot_bytes):
    """`arguments`: (dtype code, byte offset, element count) of each input tensor."""
    body = b"".join(
        ARGUMENT.pack(ROLE_IN, dtype, offset, count, 0, 0, 0.0, 0.0, 0)
        for dtype, offset, count in arguments
    )
    head = LAYOUT_HEAD.pack(len(arguments), 0, slot_bytes)
    return head + body.ljust(ARGUMENTS * ARGUMENT.size, b"\0")


def output(address, size, dtype, shape):
    """A tensor that a call returned."""
    return OUTPUT.pack(address, size, dtype, len(shape), *shape, *[0] * (DIMENSIONS - len(shape)))


def done(outputs, own_ns):
    """`outputs`: what output() says of each; `own_ns`: by the own clock."""
    return HEAD.pack(DONE, len(outputs)) + TIMES.pack(own_ns, 0) + b"".join(outputs)
