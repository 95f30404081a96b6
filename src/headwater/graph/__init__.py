"""Who reads whom: dependency graph of stream tables, and selections of them."""
