"""One refresh, from pin to record, and everything that explains or checks it."""
