"""OpenTelemetry traces: W3C trace context through every hop, spans without any text, export by OTLP."""
