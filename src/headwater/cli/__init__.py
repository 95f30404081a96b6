"""The command line: small commands over the hub; nothing heavy is imported before it is needed."""
