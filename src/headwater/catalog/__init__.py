"""What Headwater remembers: definitions, runs, leases and settings in SQLite or PostgreSQL."""
