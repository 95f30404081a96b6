"""One module per migration; a released one never changes."""
