#!/usr/bin/env bash
# What the profiler itself costs, beside the server's own fastest ways and the tools that people use otherwise, on one
# private MariaDB: alternating runs (A B A B ...), medians, ratios. Machines are shared and noisy: read the ratios, not the
# figures.
#
#   benches/peers.sh [PAIRS] [ROWS]        defaults: 5 pairs, 1,000,000 rows
#
# Public tools only: mariadb, mariadb-slap, sysbench (Debian packages). Prints a table in Markdown.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-5}
rows=${2:-1000000}
single=$((rows / 5))

. tests/servers.sh
servers_install_mariadb
command -v sysbench >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends sysbench >/dev/null
cargo build --release --locked --quiet
rowcliff=${CARGO_TARGET_DIR:-target}/release/rowcliff
work=$(mktemp -d)
servers_trap "" "rm -rf '$work'"
servers_start peers "$ROWCLIFF_TEST_MARIADBD" "$work/server" --innodb-buffer-pool-size=2G --innodb-log-file-size=1G \
    --innodb-flush-log-at-trx-commit=2 --max-connections=100 --secure-file-priv=""
socket=$SERVERS_SOCKET
target="mysql://root@localhost/test?socket=$socket"
export XDG_STATE_HOME=$work/state
sql() { mariadb --no-defaults --local-infile=1 -uroot -S "$socket" -N -B test "$@"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

# Runs a command; sets CPU (user + system seconds) of the whole process.
timed() {
    local TIMEFORMAT="%U %S" times user system
    times=$( { time "$@" >"$work/out" 2>"$work/err"; } 2>&1 | tail -n 1) || { cat "$work/err" >&2; return 1; }
    read -r user system <<<"$times"
    CPU=$(awk -v u="$user" -v s="$system" 'BEGIN { print u + s }')
}

# One curve of rowcliff; sets RATE (rows/s of the timed sections), CLIENT (CPU seconds in them), CPU (whole process).
curve() {
    rm -rf "$work/run"
    timed "$rowcliff" run --target "$target" --out "$work/run" --no-verify --quiet "$@"
    read -r RATE CLIENT <<<"$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
        NR > 1 { r += $c["rows"]; s += $c["seconds"]; u += $c["client_cpu_seconds"] } END { print r / s, u }' "$work/run/batches.csv")"
}

# A statement on the server; sets RATE from the server's own clock.
on_server() {
    local micros
    micros=$(sql -e "SET @t = SYSDATE(6); $1; SELECT TIMESTAMPDIFF(MICROSECOND, @t, SYSDATE(6))" | tail -n 1)
    RATE=$(awk -v r="$2" -v m="$micros" 'BEGIN { print r / m * 1e6 }')
}

table="id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, id2 INT NOT NULL, id3 INT NULL, KEY (id2)"
fresh() { sql -e "DROP TABLE IF EXISTS peer; CREATE TABLE peer ($1) ENGINE=InnoDB"; }
row() { printf '| %s | %s | %s | %s |\n' "$@"; }

printf 'rowcliff %s, MariaDB %s, %s cores, %s rows, %s alternating pairs, medians\n\n' "$("$rowcliff" --version | cut -d' ' -f2)" \
    "$(sql -e 'SELECT VERSION()')" "$(nproc)" "$rows" "$pairs"
row 'what' 'rowcliff' 'peer' 'ratio'
row '---' '---' '---' '---'

# LOAD DATA LOCAL from memory against the server's own row source of the same shape.
: >"$work/a"; : >"$work/b"; : >"$work/r"
for _ in $(seq "$pairs"); do
    curve --method load-data --schema pbxt-autoinc --key autoinc --connections 1 --rows "$rows" --batch-rows "$rows"; a=$RATE
    fresh "$table"
    on_server "INSERT INTO peer (id2, id3) SELECT seq, IF(seq % 8 = 0, NULL, seq) FROM seq_1_to_$rows" "$rows"; b=$RATE
    echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; ratio "$a" "$b" >>"$work/r"; echo >>"$work/r"
done
row 'load-data, 1 connection: rows/s against INSERT ... SELECT from SEQUENCE' "$(median <"$work/a")" "$(median <"$work/b")" "$(grep . "$work/r" | median)"

# The same against the stock client with a file of the same rows.
: >"$work/a"; : >"$work/b"; : >"$work/r"
curve --method load-data --schema pbxt-autoinc --key autoinc --connections 1 --rows "$rows" --batch-rows "$rows" --keep
kept=$(sql -e "SHOW TABLES LIKE 'rowcliff%'")
sql -e "SELECT id2, id3 FROM $kept ORDER BY id" | sed 's/NULL/\\N/' >"$work/rows.tsv"
sql -e "DROP TABLE $kept"
for _ in $(seq "$pairs"); do
    curve --method load-data --schema pbxt-autoinc --key autoinc --connections 1 --rows "$rows" --batch-rows "$rows"; a=$RATE
    fresh "$table"
    on_server "LOAD DATA LOCAL INFILE '$work/rows.tsv' INTO TABLE peer (id2, id3)" "$rows"; b=$RATE
    echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; ratio "$a" "$b" >>"$work/r"; echo >>"$work/r"
done
row "load-data, 1 connection: rows/s against the stock client's LOAD DATA LOCAL" "$(median <"$work/a")" "$(median <"$work/b")" "$(grep . "$work/r" | median)"

# Client CPU of the classic load.
sysbench_bulk() {
    sysbench bulk_insert --threads=1 --mysql-socket="$socket" --mysql-user=root --mysql-db=test cleanup >/dev/null 2>&1 || true
    sysbench bulk_insert --threads=1 --mysql-socket="$socket" --mysql-user=root --mysql-db=test prepare >/dev/null
    timed sysbench bulk_insert --threads=1 --events="$rows" --time=0 --mysql-socket="$socket" --mysql-user=root --mysql-db=test run
    sysbench bulk_insert --threads=1 --mysql-socket="$socket" --mysql-user=root --mysql-db=test cleanup >/dev/null
}
per_million() { awk -v c="$1" -v r="$rows" 'BEGIN { printf "%.4f", c * 1e6 / r }'; }
: >"$work/a"; : >"$work/b"; : >"$work/r"; : >"$work/c"
for _ in $(seq "$pairs"); do
    curve --method insert --schema pbxt-autoinc --key autoinc --connections 1 --rows "$rows" --batch-rows "$rows"
    per_million "$CLIENT" >>"$work/c"; echo >>"$work/c"; a=$CPU
    sysbench_bulk; b=$CPU
    per_million "$a" >>"$work/a"; echo >>"$work/a"; per_million "$b" >>"$work/b"; echo >>"$work/b"; ratio "$a" "$b" >>"$work/r"; echo >>"$work/r"
done
row 'insert, 1000 rows a statement, autoinc: client CPU seconds per million rows, timed sections' "$(grep . "$work/c" | median)" '-' '-'
row "the same, whole process, against sysbench bulk_insert" "$(grep . "$work/a" | median)" "$(grep . "$work/b" | median)" "$(grep . "$work/r" | median)"
: >"$work/c"
for _ in $(seq "$pairs"); do
    curve --method insert --schema pbxt-uuid --key uuid4:char32 --connections 1 --rows "$rows" --batch-rows "$rows"
    per_million "$CLIENT" >>"$work/c"; echo >>"$work/c"
done
row 'insert, 1000 rows a statement, uuid4:char32: client CPU seconds per million rows, timed sections' "$(grep . "$work/c" | median)" '-' '-'

# One row a statement, autocommit, 8 connections: against mariadb-slap with the same table and statement.
: >"$work/a"; : >"$work/b"; : >"$work/r"; : >"$work/ca"; : >"$work/cb"; : >"$work/cr"
for _ in $(seq "$pairs"); do
    curve --method insert --schema pbxt-autoinc --key autoinc --statement-rows 1 --connections 8 --rows "$single" --batch-rows "$single"; a=$RATE; ca=$CPU
    fresh "$table"
    timed mariadb-slap --no-defaults -uroot -S "$socket" --create-schema=test --no-drop --concurrency=8 --number-of-queries="$single" \
        --query="INSERT INTO peer (id2, id3) VALUES (123456, 654321)"
    cb=$CPU
    b=$(awk -v n="$single" '/Average number of seconds/ { print n / $(NF - 1) }' "$work/out")
    echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; ratio "$a" "$b" >>"$work/r"; echo >>"$work/r"
    echo "$ca" >>"$work/ca"; echo "$cb" >>"$work/cb"; ratio "$ca" "$cb" >>"$work/cr"; echo >>"$work/cr"
done
row "one row a statement, 8 connections, $single rows: rows/s against mariadb-slap" "$(median <"$work/a")" "$(median <"$work/b")" "$(grep . "$work/r" | median)"
row 'the same: CPU seconds of the whole process' "$(median <"$work/ca")" "$(median <"$work/cb")" "$(grep . "$work/cr" | median)"

# The same against sysbench oltp_insert, with sysbench's own table.
cat >"$work/sbtest.sql" <<'SQL'
CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) {options}
SQL
sysbench_insert="sysbench oltp_insert --threads=8 --tables=1 --table-size=1 --mysql-socket=$socket --mysql-user=root --mysql-db=test"
: >"$work/a"; : >"$work/b"; : >"$work/r"; : >"$work/ca"; : >"$work/cb"; : >"$work/cr"
for _ in $(seq "$pairs"); do
    curve --method insert --key autoinc --schema "$work/sbtest.sql" --payload-bytes 120 --statement-rows 1 --connections 8 \
        --rows "$single" --batch-rows "$single"; a=$RATE; ca=$CPU
    $sysbench_insert cleanup >/dev/null 2>&1 || true
    $sysbench_insert prepare >/dev/null
    # shellcheck disable=SC2086
    timed $sysbench_insert --events="$single" --time=0 run
    cb=$CPU
    b=$(awk -v n="$single" '/total time:/ { sub("s", "", $NF); print n / $NF }' "$work/out")
    echo "$a" >>"$work/a"; echo "$b" >>"$work/b"; ratio "$a" "$b" >>"$work/r"; echo >>"$work/r"
    echo "$ca" >>"$work/ca"; echo "$cb" >>"$work/cb"; ratio "$ca" "$cb" >>"$work/cr"; echo >>"$work/cr"
done
$sysbench_insert cleanup >/dev/null
row "one row a statement, 8 connections, sysbench's table: rows/s against sysbench oltp_insert" "$(median <"$work/a")" "$(median <"$work/b")" "$(grep . "$work/r" | median)"
row 'the same: CPU seconds of the whole process' "$(median <"$work/ca")" "$(median <"$work/cb")" "$(grep . "$work/cr" | median)"

# The gap between batches of the default load, encoding left out, as a share of the batch.
curve --method insert --schema pbxt-autoinc --key autoinc --rows $((rows * 4)) --batch-rows "$rows"
row 'gap between default batches, encoding left out, share of the batch' "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
    NR > 2 { print ($c["gap_seconds"] - $c["encode_seconds"]) / $c["seconds"] }' "$work/run/batches.csv" | median)" '-' '-'
