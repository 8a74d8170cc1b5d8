"""A running system for measurements that stress it: its processes, its samples, calls with their outcomes."""
