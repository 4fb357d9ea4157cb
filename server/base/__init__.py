"""What the server and its worker processes both use: JSON files, and the thinning of events. It imports nothing of either."""
