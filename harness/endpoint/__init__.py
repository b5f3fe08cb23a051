"""The one client of model endpoints: the only place that knows the wire."""
