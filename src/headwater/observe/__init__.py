"""What happened, as typed events."""
