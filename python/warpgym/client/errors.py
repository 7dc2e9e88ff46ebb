"""Errors of the client. A candidate that fails is not an error: its verdict says so."""

from __future__ import annotations


class Error(Exception):
    """The base of all below."""


class Unreachable(Error):
    """No answer within the client's retry budget."""


class ProtocolError(Error):
    """The answer does not follow warpgym's protocol."""


class Refused(Error):
    """The server refuses: HTTP's `status`, a `code` for programs, a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} ({status})")
        self.status, self.code, self.message = status, code, message


class NotFound(Refused):
    """There is no such evaluation, batch or problem."""
