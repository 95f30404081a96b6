"""Where versions and changes come from: table metadata, change windows, publishing."""
