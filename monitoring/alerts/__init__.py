"""Alerts by what they watch. `monitoring.catalogue` lists them all."""
