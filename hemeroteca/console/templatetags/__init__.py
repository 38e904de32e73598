"""Filters and tags of the templates; Django looks for them here."""
