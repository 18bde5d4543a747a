#!/usr/bin/env bash
# Runs the tests, with the database servers they need.
#
#   tests/run.sh [AREA...]
#
# An area is `unit` (the tests inside src/, and those in the documentation), `slurm` (tests/slurm.sh, an array job on a real
# Slurm) or a module of the integration tests: tests/it/sqlite.rs is the area `sqlite`. Without names all areas run. One MariaDB and one MySQL server are
# installed if missing (tests/servers.sh), started in a private folder, and ended afterwards.
#
# The last line is the sum: "N passed, N failed". The status is not 0 when something failed, and also when an area
# had no tests, since a misspelt filter must not pass.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=tests/servers.sh
. "$here/servers.sh"

# A relative target directory is meant from where the command was given.
if [[ -n ${CARGO_TARGET_DIR-} && $CARGO_TARGET_DIR != /* ]]; then export CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR; fi
cd -- "$here/.."

# -------------------------------------------------------------------------------------------------- the areas

known=(unit)
for file in tests/it/*.rs tests/it/*/mod.rs; do
    [[ -e $file ]] || continue
    name=${file#tests/it/}
    name=${name%/mod.rs}
    name=${name%.rs}
    case $name in
    main | support) ;;
    *) known+=("$name") ;;
    esac
done

among() { # WORD LIST...
    local word=$1 other
    shift
    for other in "$@"; do [[ $other == "$word" ]] && return 0; done
    return 1
}

known+=(slurm)

areas=()
for name in "$@"; do
    if ! among "$name" "${known[@]}"; then
        case $name in
        -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$here/run.sh" ;;
        *) printf 'run.sh: no area "%s"\n' "$name" >&2 ;;
        esac
        printf 'areas: %s\n' "${known[*]}" >&2
        exit 2
    fi
    among "$name" "${areas[@]}" || areas+=("$name")
done
if ((!$#)); then areas=("${known[@]}"); fi

# These need no server, and somebody who works on them should not wait for one.
servers=''
integration=''
for name in "${areas[@]}"; do
    case $name in
    unit | slurm) ;;
    browser | cli | fake | golden | pictures | plans | probes_shown | reading | secrets | situations | sqlite | standing | values) integration=1 ;;
    *) integration=1 servers=1 ;;
    esac
done

# ------------------------------------------------------------------------------------------------- running

scratch=$(mktemp -d "${TMPDIR:-/tmp}/rowcliff-tests.XXXXXX")
child=''

# Runs a command in a process group of its own, its output into FILE, or as it is when FILE is empty. It runs in the
# background because bash would otherwise answer a signal only after it has ended, and under job control because
# background jobs have SIGINT ignored otherwise, which the tests that send this signal would inherit.
run() {
    local file=$1 status=0
    shift
    set -m
    if [[ $file ]]; then "$@" </dev/null >"$file" 2>&1 & else "$@" </dev/null & fi
    child=$!
    set +m
    wait "$child" || status=$?
    child=''
    return "$status"
}

# On the way out: cargo itself would leave the test program running.
# shellcheck disable=SC2317 # called by the trap
end_child() {
    local i
    [[ $child ]] || return 0
    kill -TERM -- "-$child" 2>/dev/null || return 0
    for ((i = 0; i < 50; i++)); do
        kill -0 -- "-$child" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$child" 2>/dev/null
}

# shellcheck disable=SC2016 # expanded when it runs
servers_trap end_child 'rm -rf -- "$scratch"'

rows=()
passed=0 failed=0 skipped=0 bad=0

seconds_since() { # START, both as EPOCHREALTIME, whose decimal point depends on the locale
    local us=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
    printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

row() { rows+=("$(printf '%-12s %9s %8s %8s %8s' "$@")"); }

finish() { # prints the table and the sum, and ends
    servers_stop_all || true # whatever the servers have to say comes before the sum
    printf '\n%-12s %9s %8s %8s %8s\n' area seconds passed failed skipped
    printf '%s\n' "${rows[@]}"
    printf '\n'
    if [[ $servers && ! ${ROWCLIFF_TEST_MARIADB_SOCKET-} ]]; then
        printf '!!! NO MARIADB SERVER COULD BE HAD: see above.\n'
        bad=1
    fi
    if [[ $servers && ! ${ROWCLIFF_TEST_MYSQL_SOCKET-} ]]; then
        printf '!!! NO MYSQL SERVER COULD BE HAD: NOTHING WAS TESTED AGAINST MYSQL. See above.\n'
    fi
    printf '%d passed, %d failed' "$passed" "$failed"
    if ((skipped)); then printf ', %d skipped' "$skipped"; fi
    printf '\n'
    if ((bad || failed || !passed)); then exit 1; fi
    exit 0
}

problem() {
    printf '!!! %s\n' "$*"
    bad=1
}

# One build, so that no area pays for it and a program that does not compile is reported once.
start=$EPOCHREALTIME
if ! run '' cargo test --no-run --locked; then
    problem 'the tests could not be built'
    failed=1
    row build "$(seconds_since "$start")" - - -
    servers='' # not tried, so not missing
    finish
fi
row build "$(seconds_since "$start")" - - -

unset ROWCLIFF_TEST_MARIADB_SOCKET ROWCLIFF_TEST_MYSQL_SOCKET ROWCLIFF_TEST_MARIADBD ROWCLIFF_TEST_MYSQLD \
    ROWCLIFF_TEST_GALERA ROWCLIFF_TEST_REQUIRE
if [[ $servers ]]; then
    start=$EPOCHREALTIME
    if servers_install_mariadb && servers_start MariaDB "$ROWCLIFF_TEST_MARIADBD" "$scratch/mariadb"; then
        export ROWCLIFF_TEST_MARIADB_SOCKET=$SERVERS_SOCKET
    fi
    if servers_install_mysql && servers_start MySQL "$ROWCLIFF_TEST_MYSQLD" "$scratch/mysql"; then
        export ROWCLIFF_TEST_MYSQL_SOCKET=$SERVERS_SOCKET
    else
        unset ROWCLIFF_TEST_MYSQLD # a server that does not start here will not start for a test either
    fi
    # A test without the server it needs leaves itself out, unless it is named here: then it fails. MySQL comes
    # from a suite of Debian that changes every day, so its absence is only reported, unless it was asked for.
    require=mariadb
    if [[ ${ROWCLIFF_TEST_MYSQL_SOCKET-} || " $* " == *mysql* ]]; then require+=,mysql; fi
    # Galera is a part of the distribution, as MariaDB is.
    if among cluster "${areas[@]}"; then
        servers_install_galera || printf '!!! NO GALERA COULD BE HAD: see above.\n'
        require+=,galera
    fi
    export ROWCLIFF_TEST_REQUIRE=$require
    row servers "$(seconds_since "$start")" - - -
fi

# A browser for the report: Debian's, installed where that can be done. Without one its tests are left out, and that is said.
browser_install() {
    if ! { command -v chromium && command -v chromedriver; } >/dev/null; then
        if ((EUID)) || ! command -v apt-get >/dev/null; then return 1; fi
        run "$scratch/browser" env DEBIAN_FRONTEND=noninteractive bash -c \
            'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver' || return 1
    fi
    ROWCLIFF_TEST_CHROMIUM=$(command -v chromium) && ROWCLIFF_TEST_CHROMEDRIVER=$(command -v chromedriver) || return 1
    export ROWCLIFF_TEST_CHROMIUM ROWCLIFF_TEST_CHROMEDRIVER
}

unset ROWCLIFF_TEST_CHROMIUM ROWCLIFF_TEST_CHROMEDRIVER
if among browser "${areas[@]}"; then
    start=$EPOCHREALTIME
    if ! browser_install; then
        if [[ -e $scratch/browser ]]; then tail -n 3 -- "$scratch/browser"; fi
        printf '!!! NO BROWSER COULD BE HAD (chromium and chromium-driver): THE REPORT WAS NOT TRIED IN ONE.\n'
        skipped=$((skipped + 1))
    fi
    row chromium "$(seconds_since "$start")" - - -
fi

# The names of all integration tests: what an area should run is known before it runs.
tests=()
if [[ $integration ]]; then
    if ! run "$scratch/list" cargo test --locked --test it -- --list; then
        cat -- "$scratch/list"
        problem 'the integration tests could not be listed'
        failed=$((failed + 1))
    fi
    mapfile -t tests < <(sed -n 's/: test$//p' "$scratch/list")
fi

# shellcheck disable=SC2317 # called through run
unit() {
    local status=0
    local -a what=()
    if [[ -e src/lib.rs ]]; then what+=(--lib); fi
    if [[ -e src/main.rs || -d src/bin ]]; then what+=(--bins); fi
    cargo test --locked --no-fail-fast "${what[@]}" || status=1
    if [[ -e src/lib.rs ]]; then cargo test --locked --no-fail-fast --doc || status=1; fi
    return "$status"
}

area() {
    local name=$1 start=$EPOCHREALTIME status=0 expected=0 seen=0 test p f i _
    local out=$scratch/$1.out
    local -a filter=("$name::") mine=()
    if [[ $name == unit ]]; then
        run "$out" unit || status=$?
    elif [[ $name == slurm ]]; then
        run "$out" tests/slurm.sh || status=$?
        sed -n 's/^left out: /slurm: left out: /p' "$out"
    else
        for test in "${tests[@]}"; do
            if [[ $test == *"$name::"* ]]; then seen=$((seen + 1)); fi
            if [[ $test == "$name::"* ]]; then mine+=("$test"); fi
        done
        expected=${#mine[@]}
        if ((!expected)); then
            problem "the area $name has no tests"
            failed=$((failed + 1))
            row "$name" 0.0 0 1 0
            return 0
        fi
        # The filter finds its text anywhere in a name: `sqlite::` is also in `mysqlite::`.
        if ((seen != expected)); then filter=(--exact "${mine[@]}"); fi
        run "$out" cargo test --locked --test it -- "${filter[@]}" || status=$?
    fi
    read -r p f i < <(sed -En 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed; ([0-9]+) ignored.*/\1 \2 \3/p' \
        "$out" | awk '{ p += $1; f += $2; i += $3 } END { print p + 0, f + 0, i + 0 }')
    # A test program that crashed gives no figures. Tests which were not heard of have not passed.
    if ((p + f + i < expected)); then f=$((expected - p - i)); fi
    if ((!f && (status || p + i == 0))); then f=1; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + i))
    row "$name" "$(seconds_since "$start")" "$p" "$f" "$i"
    if ((status || f)); then
        printf '\n=== %s failed (status %d), its output:\n' "$name" "$status"
        cat -- "$out"
        printf '=== end of the output of %s\n' "$name"
        bad=1
    else
        printf '%s: %d passed, %s s\n' "$name" "$p" "$(seconds_since "$start")"
    fi
}

for name in "${areas[@]}"; do
    area "$name"
done

# A test outside all areas would never run.
for test in "${tests[@]}"; do
    if ! among "${test%%::*}" "${known[@]}"; then
        problem "the test $test belongs to no area: its module has no file tests/it/${test%%::*}.rs"
        failed=$((failed + 1))
    fi
done
finish
