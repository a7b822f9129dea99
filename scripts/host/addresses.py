"""Which addresses a row may make this machine ask: not itself, its link, or a cloud's metadata.

Private networks are allowed, since that is where many keep their files. ALLOW names hosts, addresses or networks that
are asked all the same. Source: RFC 6890; the metadata addresses of AWS, Azure, Google and Alibaba.
"""

from __future__ import annotations

import ipaddress
import os

ALLOW = "VLLM_BATCH_ROW_HOSTS"  # environment variable: a comma between two
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses are its last 32 bits
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def may_ask(host: str, text: str) -> bool:
    """Tell whether a row may ask `host`, which was looked up as the address `text`."""
    try:
        address = _plain(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False
    if _is_allowed(host, address):
        return True
    closed = (
        address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or address.is_multicast
        or address in _METADATA
        or (address.is_reserved and address.version == 4)
    )
    return not closed


def is_address(host: str) -> bool:
    """Tell whether a URL's host is an address and not a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_allowed(host: str, address: Address) -> bool:
    for entry in os.environ.get(ALLOW, "").split(","):
        name = entry.strip().lower()
        if name and name == host.lower().rstrip("."):
            return True
        try:
            if name and address in ipaddress.ip_network(name, strict=False):
                return True
        except ValueError:
            continue  # a name
    return False
