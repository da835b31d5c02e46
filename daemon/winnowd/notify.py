"""What the service tells systemd: that it is ready, what it does, that it still turns (sd_notify(3)).

Hides the datagrams and the variables that name their address. A systemd that does not listen never stops the loop.
"""

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping

from winnowd import disk

STATUS_CHARS = 1_000  # systemd ignores messages of more than 4,096 bytes; a character takes four at most


class Notify:
    """The line to whoever started the service. Every message says whether it was sent; none raises, none waits."""

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        self._address = _socket_address(address)
        self._watchdog_seconds = watchdog_seconds
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self._address else None
        if self._socket is not None:
            self._socket.setblocking(False)

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> "Notify":
        """Take NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child can ping in our place.

        To be called before the first child starts. Without NOTIFY_SOCKET every message is a no-op.
        """
        address = environment.pop("NOTIFY_SOCKET", None)
        seconds = _watchdog_seconds(environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", None))
        return cls(address, seconds if address else None)

    @property
    def watchdog_seconds(self) -> float | None:
        """Seconds without a ping after which systemd ends the service; ping at half of it. None where it does not ask."""
        return self._watchdog_seconds

    def ready(self, status: str) -> bool:
        """The service has started, or a reload is over; with what it does now."""
        return self._send("READY=1", _status(status))

    def status(self, text: str) -> bool:
        """What the service does, for `systemctl status`: one line, control characters escaped, cut at 1,000 characters."""
        return self._send(_status(text))

    def watchdog(self) -> bool:
        """The loop has turned."""
        return self._send("WATCHDOG=1")

    def reloading(self) -> bool:
        """The configuration is being read again; `ready` says when that is over. The time lets systemd match the two."""
        return self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1_000}")

    def stopping(self, text: str) -> bool:
        """The service is on its way out, and why."""
        return self._send("STOPPING=1", _status(text))

    def extend(self, seconds: float) -> bool:
        """A start or a stop takes longer: ask for this many seconds from now. To be repeated before they are over."""
        return self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * 1_000_000)}")

    def _send(self, *lines: str) -> bool:
        if self._socket is None:
            return False
        # Not connected: a systemd that starts again binds a new socket at the same address. A full queue is an OSError too.
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode(), self._address)
            return True
        return False


def _status(text: str) -> str:
    # Some versions of systemd (252 does) take one level of backslashes away, and drop a message that ends in half a pair.
    return "STATUS=" + disk.printable(text[:STATUS_CHARS])[:STATUS_CHARS].replace("\\", "\\\\")


def _socket_address(named: str | None) -> bytes:
    """The address as the kernel takes it; empty for none, and for kinds that need another family (vsock)."""
    if named is None or named[:1] not in ("/", "@"):
        return b""
    raw = os.fsencode(named)
    return b"\0" + raw[1:] if raw.startswith(b"@") else raw


def _watchdog_seconds(microseconds: str, pid: str | None) -> float | None:
    """The deadline of the watchdog, where it is set and meant for this process (sd_watchdog_enabled(3))."""
    if not microseconds.isdecimal() or int(microseconds) == 0 or pid not in (None, str(os.getpid())):
        return None
    return int(microseconds) / 1_000_000
