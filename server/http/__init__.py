"""Shared by all routes: who may ask, how a body is read, how an answer and an error look, and the page's own files."""
