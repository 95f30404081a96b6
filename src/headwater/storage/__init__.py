"""Stream tables on disk: create, evolve, stage, apply, publish."""
