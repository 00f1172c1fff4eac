"""SQLite storage for spaced."""
