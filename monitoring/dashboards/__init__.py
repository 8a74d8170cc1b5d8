"""Dashboards by reader. `monitoring.catalogue` lists them all."""
