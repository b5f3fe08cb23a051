"""The conductor: endpoints, agents, runs, the Episode contract and the run store."""
