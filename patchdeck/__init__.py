"""The face of patchdeck: the command line and the trainer's client."""
