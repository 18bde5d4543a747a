#!/usr/bin/env bash
# A real Slurm on this machine: an array job with the script of README.md runs the shards of a plan, and their results become
# one plot.
#
#   tests/slurm.sh [ROWCLIFF]        the program; target/debug/rowcliff when it is left out
#
# Debian's packages are installed if missing. One controller, one node and one munge daemon run in a private folder with
# ports of their own, and end with the script. Where that cannot be had, the test is left out with the reason. The last line
# is that of a test harness.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
rowcliff=${1:-${CARGO_TARGET_DIR:-$here/../target}/debug/rowcliff}
[[ -x $rowcliff ]] || { printf 'slurm: no program %s; build it with cargo build\n' "$rowcliff" >&2; exit 1; }
rowcliff=$(cd -- "$(dirname -- "$rowcliff")" && pwd -P)/${rowcliff##*/}

folder=$(mktemp -d "${TMPDIR:-/tmp}/rowcliff-slurm.XXXXXX")
pids=()

# shellcheck disable=SC2317 # called by the trap
finish() {
    local pid i
    # The reverse of the order in which they were started: the node needs the controller, and both need munge.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        pid=${pids[i]}
        kill -TERM "$pid" 2>/dev/null || continue
        for _ in {1..50}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf -- "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

left_out() {
    printf 'left out: %s\n' "$*"
    printf 'test result: ok. 0 passed; 0 failed; 1 ignored\n'
    exit 0
}

passed=0
failed=0
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        printf 'ok: %s\n' "$what"
        passed=$((passed + 1))
    else
        printf 'FAILED: %s\n' "$what"
        failed=$((failed + 1))
    fi
}

# ----------------------------------------------------------------------------------------------- installing

PATH=$PATH:/usr/sbin:/sbin
missing=''
for program in munged slurmctld slurmd sbatch scontrol; do
    command -v "$program" >/dev/null || missing+=" $program"
done
if [[ $missing ]]; then
    if ! command -v apt-get >/dev/null || ((EUID)); then left_out "no$missing here, and only root on Debian can install them"; fi
    # shellcheck source=tests/servers.sh
    . "$here/servers.sh"
    apt-get -o Acquire::Retries=3 update >&2 || true
    # The packages bring services, which are not to be started.
    _servers_apt_install slurmctld slurmd slurm-client munge || left_out 'the packages of Slurm could not be installed'
fi

# ------------------------------------------------------------------------------------------------- starting

host=$(hostname -s)
user=$(id -un)
port=$((20000 + RANDOM % 20000))
(umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
mkdir -- "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<EOF
ClusterName=rowcliff
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=test Nodes=$host Default=YES State=UP
EOF
export SLURM_CONF=$folder/slurm.conf

start() { # NAME COMMAND...
    local name=$1
    shift
    "$@" </dev/null >"$folder/$name.out" 2>&1 &
    pids+=("$!")
}
start munged munged --foreground --force -S "$folder/munge.sock" --key-file="$folder/munge.key" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
for _ in {1..50}; do [[ -S $folder/munge.sock ]] && break; sleep 0.1; done
start slurmctld slurmctld -D -f "$folder/slurm.conf"
start slurmd slurmd -D -f "$folder/slurm.conf"
node=''
for _ in {1..60}; do
    node=$(sinfo --noheader --format=%T 2>/dev/null || true)
    [[ $node == idle* ]] && break
    sleep 0.5
done
if [[ $node != idle* ]]; then
    for log in "$folder"/*.out "$folder"/*.log; do
        printf -- '--- %s\n' "${log##*/}"
        tail -n 20 -- "$log"
    done
    left_out "Slurm does not come up on this machine (its node is \"$node\"); see its logs above"
fi
printf 'slurm: %s, one node\n' "$(sinfo --version)"

# --------------------------------------------------------------------------------------------- the array job

# The script of README.md, word for word: what stands there is what is tested.
script() {
    awk '/^```/ { inside = !inside; block = ""; next }
        inside { block = block $0 "\n"; if (/--shard slurm/ && block ~ /#SBATCH .*--array/) { printf "%s", block; exit } }' \
        "$here/../README.md"
}
cat >"$folder/plan.toml" <<'EOF'
key = ["autoinc", "uuid1", "uuid4", "uuid7"]
rows = "30k"
batch-rows = "10k"
EOF
PATH=$(dirname -- "$rowcliff"):$PATH
export PATH XDG_STATE_HOME=$folder/state-home

array() { # NAME [OPTION...]: runs the script's array in a directory of its own
    local name=$1
    shift
    mkdir -- "$folder/$name"
    cp -- "$folder/plan.toml" "$folder/$name/"
    script >"$folder/$name/job.sh"
    [[ -s $folder/$name/job.sh ]] || { printf 'README.md has no script with --shard slurm\n'; return 1; }
    (cd -- "$folder/$name" && timeout 180 sbatch --wait "$@" job.sh) && return
    tail -n 20 -- "$folder/$name"/slurm-*.out
    return 1
}

keys_of() { # DIR...: the keys in the samples, each with its number of lines
    local run
    for run in "$@"; do tail -q -n +2 -- "$run/batches.csv"; done | cut -d, -f4 | sort | uniq -c | awk '{ print $2 "=" $1 }' | tr '\n' ' '
}

parts_of() { # DIR...: the numbers of the shards, as the records have them
    local run
    for run in "$@"; do
        tr -d ' \n' <"$run/run.json" | grep -o '"shard":{[^}]*}' | grep -o '"number":[0-9]*,"parts":[0-9]*'
    done | sort | tr '\n' ' '
}

drawn() { # the curves that a picture draws, and the names that it writes beside them
    awk '/<g class="curve"/ { getline; gsub(/<\/?title>/, ""); print "curve-" $0; next }
        /^(autoinc|uuid1|uuid4|uuid7)$/ { print "name-" $0 }' "$1" | sort | tr '\n' ' '
}

equal() {
    [[ $1 == "$2" ]] || { printf '  expected: %s\n  is:       %s\n' "$2" "$1"; return 1; }
}

all='autoinc=3 uuid1:binary16=3 uuid4:binary16=3 uuid7:binary16=3 '
shards='"number":1,"parts":4 "number":2,"parts":4 "number":3,"parts":4 "number":4,"parts":4 '

check 'an array of four tasks runs' array plain
runs=("$folder"/plain/shard-*)
check 'each task has a run of its own' equal "${#runs[@]}" 4
check 'together they have every batch of the plan' equal "$(keys_of "${runs[@]}")" "$all"
check 'their records say which shard they are' equal "$(parts_of "${runs[@]}")" "$shards"
for run in "${runs[@]}"; do
    check "${run##*/} has one curve" equal "$(tail -n +2 -- "$run/batches.csv" | cut -d, -f1 | sort -u | wc -l)" 1
done
check 'plot takes the runs together' "$rowcliff" plot --out "$folder/pictures" "${runs[@]}"
for picture in seconds-per-batch inserts-per-second; do
    check "$picture.svg has all four curves, each drawn and named once" equal "$(drawn "$folder/pictures/$picture.svg")" \
        "$(printf '%s ' curve-{autoinc,uuid1,uuid4,uuid7} name-{autoinc,uuid1,uuid4,uuid7})"
done
shown() { "$rowcliff" show "$@" | awk '$NF == "completed" { print $1 }' | sort | tr '\n' ' '; }
check 'show takes them together' equal "$(shown "${runs[@]}")" 'autoinc uuid1 uuid4 uuid7 '
check 'an array with a step runs' array steps --array=3-9:2
runs=("$folder"/steps/shard-*)
check 'its tasks are the same four shards' equal "$(parts_of "${runs[@]}")" "$shards"
check 'and have the same batches' equal "$(keys_of "${runs[@]}")" "$all"

result=ok
((failed)) && result=FAILED
printf 'test result: %s. %d passed; %d failed; 0 ignored\n' "$result" "$passed" "$failed"
((failed == 0))
