#!/usr/bin/env bash
# Installs what is missing for `make demo` and `make test`: Debian packages, and .venv with PyTorch.
#
#   ./setup.sh         what building, judging and testing need
#   ./setup.sh lint    clang and its tools, too (make lint, make format, make fuzz)
#   ./setup.sh browser Chromium and axe-core, too: tests of pages, and scripts/screenshot
#   ./setup.sh gym     .venv-gym, too: Gymnasium, verl, verifiers, OpenEnv, for their tests (make test)
#   ./setup.sh docs    .venv-docs, too: what makes the documentation's site (make docs, make test)
#
# Several of these words may be given.
# At a terminal it asks before it installs packages (YES=1: it does not). Run again, it looks and
# leaves. What it cannot get it names in one line, and goes on: without PyTorch everything native
# still works.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

packages=(
    gcc g++ libc6-dev make ca-certificates
    libjansson-dev libfyaml-dev libseccomp-dev libssl-dev libffi-dev libsqlite3-dev libhiredis-dev
    libmicrohttpd-dev libcurl4-openssl-dev libpcre2-dev libutf8proc-dev zlib1g-dev libopenblas0-pthread
    uthash-dev
    libjs-chart.js
    libcmocka-dev redis-server iproute2
    jq patchelf
)
# What only tests use: OpenCL C as a language from outside.
test_packages=(pocl-opencl-icd ocl-icd-opencl-dev)
lint_packages=(clang clang-tidy clang-format libclang-rt-14-dev)
browser_packages=(chromium)
requirements=python/requirements.txt
venv=.venv

say() { echo "setup: $*" >&2; }

# Two `make` at once must not both install.
exec 9<setup.sh
flock 9

absent_packages() {
    local package present
    present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p')
    for package in "$@"; do
        grep -qxF "$package" <<<"$present" || echo "$package"
    done
}

# Whether to go on. Without a terminal there is no question.
agreed() {
    local answer
    { [ -n "${YES:-}" ] || ! [ -t 0 ] || ! [ -t 2 ]; } && return
    read -r -p "setup: $*? [Y/n] " answer && [[ ! $answer =~ ^[Nn] ]]
}

# The interpreter that .venv is made of: 3.10 or newer, with venv and pip.
python_usable() {
    python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

# What PyTorch's headers for extensions include.
python_headers() {
    python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

install_packages() {
    local as_root=() absent package log
    mapfile -t absent < <(absent_packages "$@")
    [ ${#absent[@]} -eq 0 ] && return
    if [ "$(id -u)" != 0 ]; then
        if sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        elif [ -t 0 ] && command -v sudo >/dev/null; then
            as_root=(sudo) # it asks for a password
        else
            say "no right to install packages; as root: apt-get install ${absent[*]}"
            return
        fi
    fi
    if ! agreed "install with apt-get: ${absent[*]}"; then
        say "not installed: ${absent[*]}"
        return
    fi
    say "installing ${absent[*]}"
    log=$(mktemp)
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update >"$log" 2>&1
    if ! "${apt[@]}" install --no-install-recommends "${absent[@]}" >>"$log" 2>&1; then
        # One that cannot be had must not take the others with it.
        for package in "${absent[@]}"; do
            "${apt[@]}" install --no-install-recommends "$package" >>"$log" 2>&1 ||
                say "cannot install $package: $(grep '^E: ' "$log" | tail -n 1)"
        done
    fi
    rm -f "$log"
}

# All at once; where that fails, one by one, so that the line names what is really not to be had.
install_requirements() {
    local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check) log line
    local torch='' missing=0
    log=$(mktemp)
    # Without an NVIDIA device the CPU build does, at a tenth of the size, where pip knows of it.
    [ -e /dev/nvidiactl ] || torch=$(sed -n 's/^torch==.*/&+cpu/p' "$requirements")
    if ! { [ -n "$torch" ] && "${pip[@]}" "$torch" -r "$requirements" >"$log" 2>&1; } &&
        ! "${pip[@]}" -r "$requirements" >"$log" 2>&1; then
        while read -r line; do
            "${pip[@]}" "$line" >"$log" 2>&1 && continue
            say "cannot install $line: $(grep -m 1 '^ERROR: ' "$log" || tail -n 1 "$log")"
            missing=1
        done < <(grep -v '^ *\(#\|$\)' "$requirements")
    fi
    rm -f "$log"
    return $missing
}

# Whether an environment FOLDER was made of what is WANTED now, and its Python starts.
is_current() {
    [ "$(cat "$1/requirements.sha256" 2>/dev/null)" = "$2" ] && "$1/bin/python" -S -c '' 2>/dev/null
}

make_venv() {
    local stamp wanted
    stamp=$venv/requirements.sha256
    wanted=$(sha256sum <"$requirements")
    is_current $venv "$wanted" && return
    if ! python_usable; then
        install_packages python3 python3-venv
        hash -r
    fi
    if ! python_usable; then
        say "no python3 of 3.10 or newer with venv: PyTorch problems and system tests stay away"
        return
    fi
    python_headers || install_packages python3-dev
    python_headers || say "no Python.h: C++ extensions of PyTorch candidates do not compile"
    say "making $venv with $(grep -c == $requirements) Python packages; this takes a minute or two"
    $venv/bin/python -m pip --version >/dev/null 2>&1 || rm -rf $venv
    if [ ! -d $venv ] && ! python3 -m venv $venv >/dev/null; then
        say "cannot make $venv with $(python3 --version)"
        return
    fi
    install_requirements && echo "$wanted" >$stamp
}

# verl, verifiers and OpenEnv ask for different versions of the same packages, and for gigabytes that no
# test uses: what is installed are the packages listed, and no others. A .pth file lends them .venv's.
make_gym_venv() {
    local folder=.venv-gym lists=(python/requirements-gym.txt python/requirements-verifiers.txt)
    local stamp=$folder/requirements.sha256 wanted log
    wanted=$(cat "${lists[@]}" | sha256sum)
    is_current $folder "$wanted" && return
    [ -x $venv/bin/python ] || return
    say "making $folder with $(cat "${lists[@]}" | grep -c ==) Python packages; this takes a minute or two"
    rm -rf $folder
    log=$(mktemp)
    if $venv/bin/python -m venv $folder >"$log" 2>&1; then
        $venv/bin/python -c 'import site; print(*site.getsitepackages(), sep="\n")' \
            >"$($folder/bin/python -c 'import site; print(site.getsitepackages()[0])')/warpgym.pth"
        local pip=($folder/bin/python -m pip install --quiet --disable-pip-version-check --retries 2
            --no-deps --no-compile)
        "${pip[@]}" -r "${lists[0]}" >>"$log" 2>&1 &&
            "${pip[@]}" --target $folder/verifiers -r "${lists[1]}" >>"$log" 2>&1 &&
            echo "$wanted" >$stamp
    fi
    [ -e $stamp ] || say "cannot make $folder, its tests are skipped: $(grep -m 1 '^ERROR: ' "$log" ||
        tail -n 1 "$log")"
    rm -f "$log"
}

# mkdocs asks for no particular versions of what it needs itself.
make_docs_venv() {
    local folder=.venv-docs list=python/requirements-docs.txt stamp wanted log
    stamp=$folder/requirements.sha256
    wanted=$(sha256sum <$list)
    is_current $folder "$wanted" && return
    say "making $folder with $(grep -c == $list) Python packages"
    rm -rf $folder
    log=$(mktemp)
    if python3 -m venv $folder >"$log" 2>&1 && $folder/bin/python -m pip install --quiet \
        --disable-pip-version-check --retries 2 -r $list >>"$log" 2>&1; then
        echo "$wanted" >$stamp
    else
        say "cannot make $folder: $(grep -m 1 '^ERROR: ' "$log" || tail -n 1 "$log")"
    fi
    rm -f "$log"
}

# The rules of accessibility by which pages are tested: one file of that package, which needs no Playwright.
get_axe() {
    local folder=build/axe log
    [ -e $folder/axe_playwright_python/axe.min.js ] && return
    log=$(mktemp)
    if ! { "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
        --dest $folder axe-playwright-python==0.1.8 &&
        "$venv/bin/python" -m zipfile -e $folder/axe_playwright_python-0.1.8-*.whl $folder; } \
        >"$log" 2>&1; then
        say "cannot get axe-core, its tests are skipped: $(tail -n 1 "$log")"
    fi
    rm -f "$log"
}

gym='' docs='' axe=''
for word in "$@"; do
    case $word in
    lint) packages+=("${lint_packages[@]}") ;;
    browser) packages+=("${browser_packages[@]}") axe=1 ;;
    gym) gym=1 ;;
    docs) docs=1 ;;
    *)
        say "it knows lint, browser, gym and docs, not '$word'"
        exit 2
        ;;
    esac
done
if command -v dpkg-query >/dev/null; then
    install_packages "${packages[@]}" "${test_packages[@]}"
else
    say "not a Debian system; it must bring: ${packages[*]}"
fi
make_venv
[ -n "$gym" ] && make_gym_venv
[ -n "$docs" ] && make_docs_venv
[ -n "$axe" ] && get_axe
exit 0
