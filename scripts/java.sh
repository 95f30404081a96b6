#!/usr/bin/env bash
# Finds Java 17 or newer; installs it where the package manager allows, else says what to run.
set -euo pipefail
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

major() { "$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'; }

if command -v "$java" >/dev/null && [ "$(major)" -ge 17 ]; then
  exit 0
fi
install="apt-get install -y openjdk-17-jre-headless"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Java 17"
  apt-get update -qq
  $install -qq >/dev/null
  exit 0
fi
echo "Headwater needs Java 17 or newer. Run: sudo $install" >&2
echo "or set JAVA_HOME to an installed JDK or JRE." >&2
exit 1
