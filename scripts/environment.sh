# Sourced by scripts/demo and scripts/test: makes .venv from a lock with hashes, and says what it does.
# make_environment demo|dev

bold='' plain=''
if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*" >&2; }
fail() { printf '\nError: %s\nNext:  %s\n' "$1" "$2" >&2; exit "${3:-1}"; }

pip_pid='' pip_log=''
stopped() { # Ctrl-C is a wish, not a fault
    trap - INT
    if [ -n "$pip_pid" ]; then kill "$pip_pid" 2>/dev/null || true; wait "$pip_pid" 2>/dev/null || true; fi
    case "${FITSERVE_LANG:-${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}}" in
        zh*) printf '\n已按你的要求停下。再运行一次即可，会从停下的地方继续。\n' >&2 ;;
        *) printf '\nStopped by you. Run it again: it goes on where it was.\n' >&2 ;;
    esac
    exit 130
}
trap stopped INT
trap 'rm -f "$pip_log"' EXIT

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if "$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer was found / 没有找到 Python 3.11 或更新的版本" "apt-get install python3 python3-venv" 7
}

install_packages() { # Debian packages that are missing, where we may
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "these Debian packages are needed and not here: $*" "sudo apt-get install $*" 7
    fi
    say "installing Debian packages: $*"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >/tmp/fitserve-apt.$$ 2>&1 ||
        { tail -5 /tmp/fitserve-apt.$$ >&2; fail "apt-get could not install: $*" "apt-get install $*" 7; }
    rm -f /tmp/fitserve-apt.$$
}

pip_install() { # pip_install COUNT ARGUMENTS…: how far it is, every ten seconds; pip's own lines where it fails
    local count="$1" started=$SECONDS told=0
    shift
    [ -n "$pip_log" ] || pip_log=$(mktemp)
    : >"$pip_log"
    .venv/bin/python -m pip install --progress-bar off --disable-pip-version-check "$@" >"$pip_log" 2>&1 &
    pip_pid=$!
    while kill -0 "$pip_pid" 2>/dev/null; do
        sleep 1
        if [ "$count" -gt 0 ] && [ $((SECONDS - started - told)) -ge 10 ]; then
            told=$((SECONDS - started))
            say "    $told s, $(pip_progress "$count")"
        fi
    done
    if wait "$pip_pid"; then pip_pid=''; return; fi
    pip_pid=''
    grep -v '^WARNING: Location' "$pip_log" | tail -8 >&2
    return 1
}

pip_progress() {
    if grep -q '^Installing collected' "$pip_log"; then
        echo "unpacking $1 packages"
    else
        echo "$(grep -c '^Collecting ' "$pip_log" || true) of $1 packages fetched"
    fi
}

make_environment() {
    local lock="locks/$1.txt" python stamp wanted
    wanted="$(sha256sum "$lock" pyproject.toml | sha256sum | cut -c1-16) $1"
    stamp=.venv/.fitserve-lock
    if [ -x .venv/bin/fitserve ] && { [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] || { [ "$1" = demo ] && covers_demo; }; }; then
        say "environment .venv is up to date"
        return
    fi
    python=$(find_python)
    say "making .venv with $($python --version) ($(grep -c == "$lock") locked packages at most, hashes checked)"
    "$python" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
    [ -x .venv/bin/python ] && .venv/bin/python -c 'import pip' 2>/dev/null || "$python" -m venv --clear .venv
    rm -f "$stamp"
    pip_install "$(grep -c == "$lock")" --require-hashes -r "$lock" ||
        fail "pip could not install the locked packages" "check the network, then run this again" 7
    pip_install 0 --no-deps --no-build-isolation -e . ||
        fail "pip could not install fitserve itself" "run this again; it is safe to repeat"
    echo "$wanted" >"$stamp"
    say "environment ready: $(du -sh .venv | cut -f1)"
}

covers_demo() { # the dev environment holds all that the demo needs
    [ "$(cat .venv/.fitserve-lock 2>/dev/null)" = "$(sha256sum locks/dev.txt pyproject.toml | sha256sum | cut -c1-16) dev" ]
}
