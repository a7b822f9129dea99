"""Hosts that a row's author names: each is looked up here, and what is connected to is the address that was looked at.

An address that only this machine should ask is closed. Behind a proxy, which looks names up itself, only addresses can
be told.
"""

from __future__ import annotations

import socket
import urllib.parse
import urllib.request

import aiohttp
from aiohttp.abc import ResolveResult

from host import addresses


class ClosedHost(aiohttp.ClientError):
    """A host that no row may ask."""


class _OpenHosts(aiohttp.ThreadedResolver):
    """Finds only addresses that a row may ask."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return a host's addresses. Raises ClosedHost when none of them may be asked."""
        found = await super().resolve(host, port, family)
        allowed = [one for one in found if addresses.may_ask(host, one["host"])]
        if found and not allowed:
            raise ClosedHost
        return allowed


def open_session(url: str, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
    """Return a session that asks the URL's host, if rows may. Raises ClosedHost, here or where it connects."""
    host = urllib.parse.urlsplit(url).hostname or ""
    if addresses.is_address(host) and not addresses.may_ask(host, host):  # no resolver is asked for it
        raise ClosedHost
    is_proxied = _is_proxied(url)
    connector = aiohttp.TCPConnector(resolver=None if is_proxied else _OpenHosts())
    return aiohttp.ClientSession(trust_env=is_proxied, timeout=timeout, connector=connector)


def _is_proxied(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    proxies = urllib.request.getproxies()
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(parts.netloc)
