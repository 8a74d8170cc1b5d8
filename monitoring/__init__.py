"""Source of the Grafana dashboards and Prometheus rules in k8s/base; `make monitoring` writes them."""
