"""The browser container: pages under score are loaded, shown and photographed in here, never on the host."""
