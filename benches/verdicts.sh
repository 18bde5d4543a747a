#!/bin/sh
# How often the default curve gets the same verdict: the first command of the README, run again and again, quiet and beside two
# busy processes. Prints word, confidence, share and exit code of every run, and how many agree.
#
#     benches/verdicts.sh [RUNS] [ROWCLIFF]      20 runs of target/release/rowcliff unless said otherwise
#
# Quiet, at least 19 of 20 are to agree. Beside busy processes each that disagrees is to have low confidence or a note.
set -eu

runs=${1:-20}
rowcliff=${2:-target/release/rowcliff}
work=$(mktemp -d)
busy=''
# Ends only what was started here.
trap 'for pid in $busy; do kill "$pid" 2>/dev/null || true; done; rm -rf "$work"' EXIT INT TERM

# Word, confidence with its reasons, share and exit code, from what a person reads, whose lines are folded.
verdict() {
    "$rowcliff" cliffs --fail-on-cliff "$1" >"$work/said" && code=0 || code=$?
    tr -s '\n ' '  ' <"$work/said" |
        sed -n "s/.* Confidence \([^:]*\): \([0-9]*%\) of the copies .* are read as \([a-z]*\)[,.].*/\3 exit=$code confidence=\1 share=\2/p"
    echo
}

series() {
    echo "$1"
    number=1
    : >"$work/all"
    while [ "$number" -le "$runs" ]; do
        "$rowcliff" run --key uuid4 --out "$work/run" >/dev/null 2>&1 || true
        verdict "$work/run" | grep . | tee -a "$work/all"
        rm -rf "$work/run"
        number=$((number + 1))
    done
    echo "alike:"
    sed 's/ confidence=.*//' "$work/all" | sort | uniq -c | sort -rn
}

series quiet
for _ in 1 2; do
    while :; do :; done &
    busy="$busy $!"
done
series 'beside two busy processes'
