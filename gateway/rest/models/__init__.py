"""JSON of the REST facade; names, units and ranges as in protos/radref/api/gateway/v1."""
