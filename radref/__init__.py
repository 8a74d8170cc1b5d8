"""radref: cited, validated answers for radiology departments. Shared by all services and clients."""

from importlib.metadata import version

__version__ = version("radref")
