"""Helpers that do not depend on mixtures: atomic files, extras, parallel tasks, progress, wording."""
