"""Fixtures for the pages."""

from __future__ import annotations

from support.pages.browser import chromium, context, page, watch

__all__ = ["chromium", "context", "page", "watch"]
