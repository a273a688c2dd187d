#!/usr/bin/env bash
# Makes a bare machine ready: system packages, .venv, Python packages, compiled translations.
#
#   scripts/setup.sh          what running the application needs
#   scripts/setup.sh semantic also the packages of the optional semantic scheme
#   scripts/setup.sh test     also what the tests need: those packages, database and queue servers, a browser
#
# It may be run again at any time: what is already there is left alone. PYTHON names another
# interpreter than python3. What cannot be had is named, and the rest goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
VENV_PYTHON=.venv/bin/python
STAMP=.venv/.installed
POLICY=/usr/sbin/policy-rc.d

RUN_PACKAGES="gcc pkg-config default-libmysqlclient-dev"
TEST_PACKAGES="mariadb-server redis-server tzdata chromium fonts-wqy-microhei gettext"

main() {
    local packages="$RUN_PACKAGES $(python_packages)"
    [ "${1:-}" = test ] && packages="$packages $TEST_PACKAGES"
    install_system_packages $packages
    make_venv
    install_requirements
    install_mysqlclient
    case "${1:-}" in test | semantic) install_semantic ;; esac
    compile_messages
}

say() { echo "setup: $*"; }
warn() { echo "setup: WARNING: $*" >&2; }
die() { echo "setup: ERROR: $*" >&2; exit 1; }

# --- System packages ----------------------------------------------------------

# Debian ships venv and the headers of its own python3 apart; any other Python brings both.
python_packages() {
    local prefix
    prefix=$("$PYTHON" -c 'import sys; print(sys.base_prefix)' 2>/dev/null) || prefix=/usr
    [ "$prefix" != /usr ] || echo python3 python3-dev python3-venv
}

install_system_packages() {
    local missing
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if ! can_install; then
        warn "these system packages are missing and only root may install them (or there is no apt):" $missing
        return 0
    fi
    say "installing system packages:" $missing
    hold_services
    apt update || warn "the list of system packages could not be renewed"
    # One name that this release does not know would stop all, so then each is tried alone.
    apt install $missing || install_one_by_one $missing
    release_services
    disable_services $missing
}

missing_packages() {
    local name
    command -v dpkg-query >/dev/null || { echo "$@"; return; }
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
    done
}

can_install() { command -v apt-get >/dev/null && as_root true 2>/dev/null; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# apt-get without questions, and without a word unless it fails.
apt() {
    local said action=$1
    shift
    said=$(as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
        apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        "$action" --no-install-recommends "$@" </dev/null 2>&1) && return 0
    tail -n 20 <<<"$said" >&2
    return 1
}

install_one_by_one() {
    local name
    for name in "$@"; do
        apt install "$name" || warn "the system package $name could not be installed"
    done
}

# Debian starts and enables a server as it installs it. The tests start private ones, so the
# system's stay off: a policy forbids the start, and they are not started at the next boot either.
hold_services() {
    [ -e $POLICY ] && return 0
    printf '#!/bin/sh\nexit 101\n' | as_root tee $POLICY >/dev/null
    as_root chmod +x $POLICY
    trap release_services EXIT
    HOLDING=yes
}

release_services() {
    [ "${HOLDING:-}" = yes ] || return 0
    as_root rm -f $POLICY
    HOLDING=
}

disable_services() {
    local name
    command -v systemctl >/dev/null || return 0
    for name in "$@"; do
        case $name in
            mariadb-server) as_root systemctl --quiet disable mariadb.service mariadb.socket || true ;;
            redis-server) as_root systemctl --quiet disable redis-server.service || true ;;
        esac
    done >/dev/null 2>&1
}

# --- Python -------------------------------------------------------------------

make_venv() {
    # Fails too if the Python that the folder was made with is gone, or if it was left half made.
    "$VENV_PYTHON" -c 'import pip' 2>/dev/null && return 0
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        die "$PYTHON is missing or older than 3.11. Install Python 3.11 or newer, or name one: PYTHON=python3.12 $0"
    say "making .venv with $("$PYTHON" --version)"
    rm -rf .venv
    "$PYTHON" -m venv .venv || die "$PYTHON has no venv module. As root: apt-get install python3-venv"
}

pip() { "$VENV_PYTHON" -m pip --disable-pip-version-check -q "$@"; }

install_requirements() {
    local wanted
    wanted=$(cat requirements.txt "$0" | sha256sum)
    [ "$(cat $STAMP 2>/dev/null)" = "$wanted" ] && return 0
    say "installing Python packages (a few minutes the first time)"
    pip install --use-pep517 -r <(grep -v '^mysqlclient==' requirements.txt)
    echo "$wanted" >$STAMP
}

# mysqlclient is compiled. Where that is impossible everything else still works, on SQLite.
install_mysqlclient() {
    local pin
    pin=$(grep '^mysqlclient==' requirements.txt)
    has_mysqlclient "${pin#*==}" && return 0
    if ! has_mysql_headers; then
        without_mysql "the C compiler, pkg-config or the headers (default-libmysqlclient-dev) are missing"
    elif ! pip install "$pin"; then
        without_mysql "mysqlclient could not be built, see above"
    fi
}

# Optional, and without wheels on some machines: everything else works without it.
install_semantic() {
    local wanted
    wanted=$(cat requirements-semantic.txt "$0" | sha256sum)
    [ "$(cat $STAMP-semantic 2>/dev/null)" = "$wanted" ] && return 0
    say "installing the packages of the semantic scheme"
    if pip install -r requirements-semantic.txt; then
        echo "$wanted" >$STAMP-semantic
    else
        warn "the semantic scheme cannot be used: its packages could not be installed, see above"
    fi
}

has_mysqlclient() {
    "$VENV_PYTHON" - "$1" <<-'PYTHON' 2>/dev/null
		import sys, importlib.metadata, MySQLdb
		sys.exit(importlib.metadata.version("mysqlclient") != sys.argv[1])
	PYTHON
}

has_mysql_headers() {
    local library
    command -v gcc >/dev/null || command -v cc >/dev/null || return 1
    for library in mysqlclient mariadb libmariadb; do
        pkg-config --exists $library 2>/dev/null && return 0
    done
    return 1
}

without_mysql() { warn "only SQLite can be used, not MySQL or MariaDB: $1"; }

# --- Translations -------------------------------------------------------------

# By polib and not by msgfmt: without a system package, no machine shows untranslated pages.
compile_messages() {
    "$VENV_PYTHON" - <<-'PYTHON'
		from pathlib import Path

		for source in Path().glob("*/locale/*/LC_MESSAGES/*.po"):
		    compiled = source.with_suffix(".mo")
		    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
		        import polib

		        polib.pofile(str(source)).save_as_mofile(str(compiled))
	PYTHON
}

main "$@"
