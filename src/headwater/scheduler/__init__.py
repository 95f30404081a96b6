"""When and in what order stream tables are refreshed: tick, dispatch, workers, coordinator."""
