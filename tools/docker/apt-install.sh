#!/usr/bin/env bash
# Installs Debian packages and nothing that they only recommend: tools/docker/apt-install.sh PACKAGE...
set -euo pipefail
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >&2; }
apt install --no-install-recommends -y "$@" 2>/dev/null || { apt update && apt install --no-install-recommends -y "$@"; }
