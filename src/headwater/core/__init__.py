"""Values every layer may know: names, frontier, schedule, spec, errors, results."""
