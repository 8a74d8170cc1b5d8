"""The service kit: what makes a process a radref service. Imports no service."""
