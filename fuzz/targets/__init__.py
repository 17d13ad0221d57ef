"""Targets: each module writes scripts for one part of the package."""
