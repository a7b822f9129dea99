"""A TCP proxy that cuts connections on purpose, to stand between a client and a real server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

BLOCK = 4096  # bytes passed on at a time


@dataclass
class Cuts:
    """Where to cut: the next connection ends after so many bytes of answer (`down`) or of request (`up`)."""

    port: int
    down: list[int] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    made: int = 0


def _pass(source: socket.socket, target: socket.socket, limit: int | None, cuts: Cuts) -> None:
    passed = 0
    with contextlib.suppress(OSError):
        while data := source.recv(BLOCK):
            if limit is not None and passed + len(data) > limit:
                target.sendall(data[: limit - passed])
                cuts.made += 1
                break
            target.sendall(data)
            passed += len(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _serve(near: socket.socket, server_port: int, cuts: Cuts) -> None:
    with near, socket.create_connection(("127.0.0.1", server_port)) as far:
        limits = (cuts.up.pop(0) if cuts.up else None), (cuts.down.pop(0) if cuts.down else None)
        up = threading.Thread(target=_pass, args=(near, far, limits[0], cuts))
        up.start()
        _pass(far, near, limits[1], cuts)
        up.join()


def _accept(listener: socket.socket, server_port: int, cuts: Cuts) -> None:
    threads = []
    with contextlib.suppress(OSError):
        while True:
            near, _ = listener.accept()
            threads.append(threading.Thread(target=_serve, args=(near, server_port, cuts)))
            threads[-1].start()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def cut_proxy(server_port: int) -> Iterator[Cuts]:
    """Run a proxy in front of a port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cuts = Cuts(listener.getsockname()[1])
        accepting = threading.Thread(target=_accept, args=(listener, server_port, cuts))
        accepting.start()
        try:
            yield cuts
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
