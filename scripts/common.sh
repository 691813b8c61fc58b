# What the scripts share. Source it; it changes to the project's folder.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$project"

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Runs a command as root: directly, or by sudo.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "needs root or sudo to run: $*"; fi
}

# Installs the Debian packages of its arguments that are missing.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

need_build_packages() {
  command -v swift >/dev/null || fail "needs Swift 6.3; see https://www.swift.org/install/linux/"
  need_packages libevent-dev libcurl4-openssl-dev libsqlite3-dev libssl-dev pkg-config curl
}

# Builds the release binary and sets $holdfast to its path. With the Swift runtime in it, as in the container: 1.3 MiB less at rest, and
# 3 % less CPU for what goes through to the origin.
build_release() {
  say "building holdfast (release)"
  swift build -c release --product holdfast --static-swift-stdlib >&2
  holdfast=$(swift build -c release --show-bin-path)/holdfast
}

# Waits until a URL answers with 200: wait_for URL PID SECONDS. Fails when the process ends first.
wait_for() {
  local url=$1 pid=$2 tries=$(($3 * 20))
  while ((tries-- > 0)); do
    kill -0 "$pid" 2>/dev/null || return 1
    curl -fs -o /dev/null --max-time 1 "$url" && return 0
    sleep 0.05
  done
  return 1
}

# The servers that the integration tests put Holdfast in front of.
need_web_servers() { need_packages nginx apache2-bin; }

# Makes the Python environment of the tests and sets $python to its interpreter.
need_python() {
  need_packages python3 python3-venv
  local environment=$project/.venv requirements=$project/Tests/Integration/requirements.txt
  python=$environment/bin/python
  if ! cmp -s "$requirements" "$environment/requirements.txt"; then
    say "making the tests' Python environment"
    python3 -m venv --clear "$environment"
    "$python" -m pip install -q --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$environment/requirements.txt"
  fi
}

# Runs the Swift suites: run_suites PATTERN ARGUMENT… (arguments of swift test). Some tests wait on real deadlines, which a busy
# machine may miss: up to five that fail are named and run once more. A crash, or what a sanitizer reports, fails at once.
# Lines are printed as they come, so that the last one names a test that hangs.
run_suites() {
  local pattern=$1 report failed
  shift
  report=$(mktemp -d)
  stdbuf -oL swift test --disable-xctest --no-parallel --xunit-output "$report/suites.xml" --filter "$pattern" "$@" && return
  failed=$(python3 - "$report"/*.xml <<'SCRIPT'
import re, sys, xml.etree.ElementTree as xml
failed = [f"{case.get('classname')}/{case.get('name')}" for file in sys.argv[1:]
          for case in xml.parse(file).iter("testcase") if case.find("failure") is not None or case.find("error") is not None]
if not 0 < len(failed) <= 5: sys.exit(1)
print("|".join(map(re.escape, failed)))
SCRIPT
  ) || return 1
  rm -r "$report"
  say "once more: $failed"
  stdbuf -oL swift test --disable-xctest --no-parallel --skip-build --filter "$failed" "$@"
}
