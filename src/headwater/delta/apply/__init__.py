"""How a delta reaches the stored rows; one module per layout, `plan_apply` chooses."""
