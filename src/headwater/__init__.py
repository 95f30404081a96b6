"""Stream tables for Apache Spark and Apache Iceberg."""
