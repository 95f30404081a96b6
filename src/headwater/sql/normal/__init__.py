"""Rewrites of a tree into its normal form: predicates where they belong, only used columns."""
