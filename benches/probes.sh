#!/usr/bin/env bash
# Probes beside sysbench, on one private MariaDB with sysbench's own table: alternating runs (A B A B ...), medians, ratios.
# Machines are shared and noisy: read the ratios, not the figures.
#
#   benches/probes.sh [PAIRS] [ROWS] [SECONDS] [PROBE:TEST]        defaults: 6 pairs, 200,000 rows, 5 s, both tests
#
# Client CPU is that of the whole process. rowcliff loads its table and looks ids up too: it is run with one iteration and with three, and
# the difference is that of two iterations.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-6}
rows=${2:-200000}
seconds=${3:-5}

. tests/servers.sh
servers_install_mariadb
command -v sysbench >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends sysbench >/dev/null
cargo build --release --locked --quiet
rowcliff=${CARGO_TARGET_DIR:-target}/release/rowcliff
work=$(mktemp -d)
servers_trap "" "rm -rf '$work'"
servers_start probes "$ROWCLIFF_TEST_MARIADBD" "$work/server" --innodb-buffer-pool-size=2G --innodb-log-file-size=1G \
    --innodb-flush-log-at-trx-commit=2 --max-connections=100
socket=$SERVERS_SOCKET
target="mysql://root@localhost/test?socket=$socket"
export XDG_STATE_HOME=$work/state
median() { grep . | sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", a / b }'; }
row() { printf '| %s | %s | %s | %s |\n' "$@"; }

cat >"$work/sbtest.sql" <<'SQL'
CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) {options}
SQL

# Runs a command; sets CPU (user + system seconds) of the whole process.
timed() {
    local TIMEFORMAT="%U %S" times user system
    times=$( { time "$@" >"$work/out" 2>"$work/err"; } 2>&1 | tail -n 1) || { cat "$work/err" >&2; return 1; }
    read -r user system <<<"$times"
    CPU=$(awk -v u="$user" -v s="$system" 'BEGIN { print u + s }')
}

# A probe of rowcliff; sets RATE (ops/s, median of its iterations) and CPU.
probe() { # PROBE ITERATIONS OPS
    rm -rf "$work/run"
    timed "$rowcliff" run --target "$target" --out "$work/run" --no-verify --quiet --key autoinc --schema "$work/sbtest.sql" \
        --payload-bytes 120 --rows "$rows" --batch-rows "$rows" --connections 8 --probe "$1" --probe-at "$rows" --probe-ops "$3" \
        --probe-iterations "$2"
    RATE=$(awk -F, 'NR > 1 { print $9 }' "$work/run/probes.csv" | median)
}

# sysbench on a table of its own of the same rows; sets RATE (what COUNTED counts, each second) and CPU.
peer() { # TEST EVENTS
    # Its default asks for one row in a hundred three times out of four; the probes' keys are spread evenly.
    local options=(--threads=8 --rand-type=uniform --tables=1 --table-size="$rows" --mysql-socket="$socket" --mysql-user=root --mysql-db=test --db-ps-mode=auto)
    sysbench "$1" "${options[@]}" cleanup >/dev/null 2>&1 || true
    sysbench "$1" "${options[@]}" prepare >/dev/null
    timed sysbench "$1" "${options[@]}" --events="$2" --time=0 run
    RATE=$(awk '/transactions:/ { gsub(/\(/, "", $3); print $3 }' "$work/out")
}

printf 'rowcliff %s, MariaDB %s, %s cores, %s rows, 8 connections, %s alternating pairs, medians\n\n' \
    "$("$rowcliff" --version | cut -d' ' -f2)" "$("$ROWCLIFF_TEST_MARIADBD" --version | grep -o '[0-9.]*-MariaDB')" "$(nproc)" "$rows" "$pairs"
row 'what' 'rowcliff' 'sysbench' 'ratio'
row '---' '---' '---' '---'

compare() { # PROBE TEST
    # As many operations as sysbench does in the time asked for.
    peer "$2" 2000
    local ops a b ca cb
    ops=$(awk -v r="$RATE" -v s="$seconds" 'BEGIN { printf "%d", r * s }')
    : >"$work/a"; : >"$work/b"; : >"$work/r"; : >"$work/ca"; : >"$work/cb"; : >"$work/cr"
    for _ in $(seq "$pairs"); do
        probe "$1" 1 "$ops"; ca=$CPU
        probe "$1" 3 "$ops"; a=$RATE
        ca=$(awk -v one="$ca" -v three="$CPU" -v n="$ops" 'BEGIN { print (three - one) / 2 / n * 1e6 }')
        peer "$2" "$ops"; b=$RATE
        cb=$(awk -v c="$CPU" -v n="$ops" 'BEGIN { print c / n * 1e6 }')
        echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; ratio "$a" "$b" >>"$work/r"
        echo "$ca" >>"$work/ca"; echo "$cb" >>"$work/cb"; ratio "$ca" "$cb" >>"$work/cr"
    done
    row "$1 against $2: operations per second" "$(median <"$work/a")" "$(median <"$work/b")" "$(median <"$work/r")"
    row "the same: client CPU, microseconds an operation" "$(median <"$work/ca")" "$(median <"$work/cb")" "$(median <"$work/cr")"
}

for pair in ${4:-select-pk:oltp_point_select oltp:oltp_read_write}; do compare "${pair%:*}" "${pair#*:}"; done
