"""How a delta reaches the stored rows: one module per layout; `delta.compile` chooses."""
