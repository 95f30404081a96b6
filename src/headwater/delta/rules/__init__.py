"""One delta rule per operator; `headwater.delta.dispatch` knows them all."""
