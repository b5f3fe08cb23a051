"""Jinja2 pages for people."""
