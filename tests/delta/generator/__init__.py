"""Random tables, changes and queries, all from one seed; failures are shrunk and kept."""
