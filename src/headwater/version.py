"""The one place where the version of package, catalog and command line is written."""

__version__ = "0.1.0"
