"""Fixtures for pages of real runs."""

from __future__ import annotations

from support.pages.browser import chromium

__all__ = ["chromium"]
