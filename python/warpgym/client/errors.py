"""What can go wrong. A candidate that fails is no error: its verdict says so."""

from __future__ import annotations


class Error(Exception):
    """Of all below."""


class Unreachable(Error):
    """No answer, for as long as the client's patience lasted."""


class ProtocolError(Error):
    """An answer that is none of warpgym's."""


class Refused(Error):
    """The server said no: `status` of HTTP, `code` for programs, the text for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} ({status})")
        self.status, self.code, self.message = status, code, message


class NotFound(Refused):
    """There is no such evaluation, batch or problem."""
