"""Watches folders and web addresses that documents come from."""
