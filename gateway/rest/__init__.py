"""The gateway over HTTP: the same desk and the same guard as gRPC, JSON instead of protobuf."""
