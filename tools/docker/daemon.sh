#!/usr/bin/env bash
# A Docker daemon of the tests' own, for machines where none answers. Root, and apt for what is missing.
#
# It prints `ready unix:///...` and stays until its standard input ends, which is when whoever started it
# does, however that ends. Then nothing of it is left: no process, container, network, mount or file. What
# a killed one left is removed by the next.
#
# It touches no firewall rule and leaves forwarding off: containers reach each other and this machine
# reaches their published ports, but they reach nothing outside. Builds that need to get --network host.
set -euo pipefail

folders="${TMPDIR:-/tmp}/management-operator-docker."

# What this script runs, and the packages that have it.
missing_packages() {
  command -v dockerd >/dev/null || echo docker.io
  command -v ip >/dev/null || echo iproute2
  command -v pgrep >/dev/null || echo procps
}

install_packages() {
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  echo "installing" $missing "(once)" >&2
  # Only this daemon is wanted, not the system's: the policy keeps the package from starting it.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e $policy ]; then
    made=$policy
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
  fi
  # shellcheck disable=SC2086 # one word for each package
  "$(dirname "$0")/apt-install.sh" $missing
  if [ -n "$made" ]; then rm -f "$made"; fi
  trap - EXIT
}

start() {
  local dir=$1 bridge=$2
  echo "$bridge" >"$dir/bridge"
  # A bridge of its own: docker0 may be another daemon's.
  ip link add "$bridge" type bridge
  dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/dockerd.pid" -H "unix://$dir/docker.sock" \
    --bridge "$bridge" --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false >"$dir/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 300); do
    docker -H "unix://$dir/docker.sock" version >/dev/null 2>&1 && return
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  echo 'dockerd did not start:' >&2
  tail -5 "$dir/dockerd.log" >&2
  return 1
}

processes_of() { pgrep -f -- "$1/" || true; }

# Tells the daemon to end, which ends containers too; ends by force what is there after that.
remove() {
  local dir=$1 pid
  docker -H "unix://$dir/docker.sock" ps -aq 2>/dev/null |
    timeout 20 xargs -r docker -H "unix://$dir/docker.sock" rm -fv >/dev/null 2>&1 || true
  pid=$(cat "$dir/dockerd.pid" 2>/dev/null || true)
  if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then
    for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  fi
  for _ in $(seq 100); do
    [ -z "$(processes_of "$dir")" ] && break
    # shellcheck disable=SC2046 # one word for each process
    kill -9 $(processes_of "$dir") 2>/dev/null || true
    sleep 0.1
  done
  awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
  if [ -s "$dir/bridge" ]; then ip link delete "$(cat "$dir/bridge")" 2>/dev/null || true; fi
  rm -rf "$dir"
}

remove_abandoned() {
  local dir
  for dir in "$folders"*; do
    [ -d "$dir" ] || continue
    kill -0 "$(cat "$dir/owner" 2>/dev/null || echo none)" 2>/dev/null || remove "$dir"
  done
}

install_packages
remove_abandoned
draft=$(mktemp -d)
echo $$ >"$draft/owner"
# In one step, as a folder without an owner is an abandoned one.
dir=$folders$$
mv -T "$draft" "$dir"
trap 'exit 1' TERM INT HUP
# Silent: whoever read the output may be gone, and writing to nobody would end the script.
trap 'trap "" TERM INT HUP; exec >/dev/null 2>&1; remove "$dir"' EXIT
start "$dir" "mo-$$"
echo "ready unix://$dir/docker.sock"
read -r _ || true
