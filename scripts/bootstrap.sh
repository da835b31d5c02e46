# Sourced by scripts/winnow and scripts/test: makes the virtual environment .venv of this checkout, once, and keeps it up to date.
# Says what it does on standard error. Needs Python 3.11 or later with venv, and a package index within reach.

say() { printf 'winnow: %s\n' "$*" >&2; }

find_python() {
    local candidate
    for candidate in ${WINNOW_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "Python 3.11 or later is missing (Debian, Ubuntu: apt install python3 python3-venv); WINNOW_PYTHON may name one"
    exit 1
}

# prepare LOCK...: the environment holds exactly what the lock files name.
prepare() {
    local stamp python
    stamp=$(cd "$here" && cat "$@" | sha256sum | cut -c1-16)
    [ -e "$here/.venv/ready-$stamp" ] && return
    command -v flock >/dev/null || { say "the command flock is missing (Debian, Ubuntu: apt install util-linux)"; exit 1; }
    exec 9>"$here/.venv.lock"
    flock -n 9 || { say "waiting for another start to finish"; flock 9; }
    if [ ! -e "$here/.venv/ready-$stamp" ]; then
        python=$(find_python)
        "$here/.venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv "$python"
        rm -f "$here"/.venv/ready-*
        say "installing what Winnow needs (once; a minute or two)"
        (cd "$here" && .venv/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes \
            $(printf -- '-r %s ' "$@") >&2) || { say "the packages could not be installed; the lines above say why"; exit 1; }
        printf '%s\n' "$here/daemon" >"$("$here/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/winnowd.pth"
        touch "$here/.venv/ready-$stamp"
    fi
    exec 9>&-
}

make_venv() {
    say "making the virtual environment .venv with $("$1" --version)"
    rm -rf "$here/.venv"
    if ! "$1" -m venv "$here/.venv" >&2; then
        rm -rf "$here/.venv"
        say "Python's venv is missing (Debian, Ubuntu: apt install python3-venv)"
        exit 1
    fi
}
