#!/bin/sh
# Makes published results anew: the run, its pictures, and the figures that its README quotes.
#
#   plots/remake.sh                 every result, one after the other: about half an hour
#   plots/remake.sh sqlite flush    some of them
#
# On the machine that the READMEs name (two cores), alone: sqlite half a minute, innodb-keys, engines-uuid and mariadb-mysql two and a
# half each, flush nine, probes ten. Nothing else may run meanwhile. ROWCLIFF is the program (target/release/rowcliff), MARIADBD and
# MYSQLD are the servers. What stands in a folder's README.md is written by hand: `figures.txt` beside it has what it quotes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rowcliff=${ROWCLIFF:-$here/../target/release/rowcliff}
mariadbd=${MARIADBD:-/usr/sbin/mariadbd}
mysqld=${MYSQLD:-/usr/sbin/mysqld}
all='sqlite innodb-keys engines-uuid mariadb-mysql flush probes'

if [ ! -x "$rowcliff" ]; then
    echo "$rowcliff is not there: cargo build --release, or name the program in ROWCLIFF" >&2
    exit 2
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/rowcliff-plots.XXXXXX")
trap 'rm -rf "$work"' EXIT
# The record has the command line as it is typed, so that the program is called by its name alone.
mkdir "$work/bin"
cp "$rowcliff" "$work/bin/rowcliff"
PATH=$work/bin:$PATH

# The words of a result, after `rowcliff run`.
words() {
    case $1 in
    sqlite) echo "--target sqlite --key autoinc,uuid7,uuid4 --rows 2M --batch-rows 100k" ;;
    innodb-keys) echo "--target scratch:$mariadbd --engine innodb --key autoinc,uuid7,uuid1,uuid4 --uuid-rate 1000 --flush 2 --cache 64M --rows 2M --batch-rows 100k" ;;
    engines-uuid) echo "--target scratch:$mariadbd --engine innodb,rocksdb,aria,myisam --key uuid4 --flush 2 --cache 64M --rows 2M --batch-rows 100k" ;;
    mariadb-mysql) echo "--target scratch:$mariadbd --target scratch:$mysqld --engine innodb --key autoinc,uuid4 --flush 2 --cache 64M --rows 1500k --batch-rows 100k" ;;
    flush) echo "--target scratch:$mariadbd --engine innodb,rocksdb --key uuid4 --flush 0,1,2 --cache 64M --statement-rows 1 --rows 1M --batch-rows 100k" ;;
    probes) echo "--target scratch:$mariadbd --engine innodb --key autoinc,uuid4 --flush 2 --cache 64M --rows 1M --batch-rows 50k --probe select-pk,update-pk,oltp --probe-at 50k,100k,200k,300k,400k,500k,600k,800k,1M --probe-connections 8 --probe-iterations 3 --probe-seconds 2s --probe-warmup" ;;
    *)
        echo "$1 is no published result; known are $all" >&2
        return 2
        ;;
    esac
}

remake() {
    name=$1
    line=$(words "$name") || return 2
    cd "$work"
    echo "$name: rowcliff run $line --out $name" >&2
    begun=$(date +%s)
    # shellcheck disable=SC2086 # words
    rowcliff run $line --quiet --out "$name"
    files='batches.csv run.json inserts-per-second.svg'
    case $name in
    probes) files="$files probes.csv probes.svg" ;;
    *) files="$files seconds-per-batch.svg" ;;
    esac
    # Paths of the scratch directory are nobody's business.
    sed -i "s|$work/$name|$name|g; s|$work|.|g" "$name/run.json"
    for file in $files; do cp "$name/$file" "$here/$name/$file"; done
    {
        rowcliff show "$name"
        rowcliff cliffs "$name"
        case $name in probes) rowcliff show --probes "$name" ;; esac
    } >"$here/$name/figures.txt"
    echo "$name: $(($(date +%s) - begun)) s" >&2
}

[ $# -gt 0 ] || set -- $all
for name in "$@"; do words "$name" >/dev/null; done
for name in "$@"; do remake "$name"; done
