"""Every service killed, paused and slowed in turn under load: what callers see, and for how long."""
