"""Builds operator trees from sqlglot queries: one module per SQL construct."""
