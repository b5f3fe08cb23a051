"""Places where untrusted work runs: code containers and the browser container."""
