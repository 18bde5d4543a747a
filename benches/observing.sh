#!/usr/bin/env bash
# What observing costs: pairs of runs with `--counters none` and `--counters default` on one private MariaDB, alternating in
# order, and the ratio of the seconds per batch of each pair. Machines are shared and noisy: read the median of the ratios.
#
#   benches/observing.sh [PAIRS] [ROWS]        defaults: 10 pairs, 1,000,000 rows; an even number, since the order alternates
#
# Prints a table in Markdown: the ratio of seconds per batch (1.000: nothing), and what a gap takes beside encoding.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-10}
rows=${2:-1000000}

. tests/servers.sh
servers_install_mariadb
cargo build --release --locked --quiet
rowcliff=${CARGO_TARGET_DIR:-target}/release/rowcliff
work=$(mktemp -d)
servers_trap "" "rm -rf '$work'"
servers_start observing "$ROWCLIFF_TEST_MARIADBD" "$work/server" --innodb-buffer-pool-size=1G --innodb-log-file-size=1G \
    --innodb-flush-log-at-trx-commit=2 --max-connections=100
target="mysql://root@localhost/test?socket=$SERVERS_SOCKET"
export XDG_STATE_HOME=$work/state
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# A column of batches.csv, or the difference of two, by name: values of all batches from the second on.
column() { # NAME [MINUS]
    awk -F, -v a="$1" -v b="${2-}" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
        NR > 2 { print $c[a] - (b == "" ? 0 : $c[b]) }' "$work/run/batches.csv"
}

# One curve; sets SECONDS_PER_BATCH (median) and GAP (median of the gap without encoding).
curve() { # KEY WHICH
    rm -rf "$work/run"
    "$rowcliff" run --target "$target" --out "$work/run" --no-verify --quiet --key "$1" --rows "$rows" \
        --batch-rows $((rows / 10)) --counters "$2" >/dev/null
    SECONDS_PER_BATCH=$(column seconds | median)
    GAP=$(column gap_seconds encode_seconds | median)
}

printf '| key | pairs | seconds per batch, default / none | gap none | gap default |\n| --- | --- | --- | --- | --- |\n'
for key in autoinc uuid4; do
    for file in ratios none default; do : >"$work/$file"; done
    for ((pair = 0; pair < pairs; pair++)); do
        # The order alternates, so that what the first leaves behind falls on both alike.
        order=(none default)
        ((pair % 2)) && order=(default none)
        for which in "${order[@]}"; do
            curve "$key" "$which"
            declare "S_$which=$SECONDS_PER_BATCH"
            echo "$GAP" >>"$work/$which"
        done
        awk -v a="$S_default" -v b="$S_none" 'BEGIN { print a / b }' >>"$work/ratios"
    done
    printf '| %s | %s | %.4f | %.1f ms | %.1f ms |\n' "$key" "$pairs" "$(median <"$work/ratios")" \
        "$(median <"$work/none" | awk '{ print $1 * 1000 }')" "$(median <"$work/default" | awk '{ print $1 * 1000 }')"
done
