#!/usr/bin/env bash
# The base image for machines that can't pull it: Debian's packages, and Node and npm from npm. Root, and
# apt for what is missing.
#
#   tools/docker/base-image.sh IMAGE NODE     NODE: the program that goes into the image
#
# Its root file system is kept in the user's cache folder, in a file whose name changes with Node's version
# and this script.
set -euo pipefail
image=$1 node=$2
npm=npm@11.21.2
suite=bookworm

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/management-operator/base-image
key=$( ("$node" --version; cat "$here/base-image.sh") | sha256sum | cut -c1-16)
rootfs=$cache/$key.tar

make_rootfs() {
  local work=$1
  command -v debootstrap >/dev/null || "$here/apt-install.sh" debootstrap
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/root" >"$work/log" 2>&1 ||
    { tail -20 "$work/log" >&2; return 1; }
  rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
  cp "$node" "$work/root/usr/local/bin/node"
  npm install --global --prefix "$work/root/usr/local" --no-audit --no-fund --loglevel=error "$npm" >&2
  tar -C "$work/root" --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale \
    --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -cf "$rootfs.$$" .
  mv "$rootfs.$$" "$rootfs"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -s "$rootfs" ]; then
  echo "making the root file system of $image (once, about a minute)" >&2
  rm -f "$cache"/*.tar "$cache"/*.tar.*
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  make_rootfs "$work"
fi
docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'CMD ["node"]' - "$image" <"$rootfs" >/dev/null
