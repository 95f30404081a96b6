"""The commands, one module for each kind; `cli.main` lists them."""
