"""The runtime layer: what the page measures once a browser has laid it out and painted it."""
