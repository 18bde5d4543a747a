# shellcheck shell=bash
# Real database servers for the tests: installed from Debian packages, started in private folders on Unix sockets.
#
# To be sourced by bash:
#
#   . tests/servers.sh
#   servers_trap                                  # end every server of this shell when it ends
#   servers_install_mariadb                       # exports ROWCLIFF_TEST_MARIADBD
#   servers_install_mysql                         # exports ROWCLIFF_TEST_MYSQLD
#   servers_install_galera                        # exports ROWCLIFF_TEST_GALERA
#   servers_start NAME BINARY DIR [OPTION...]     # sets SERVERS_SOCKET and SERVERS_PID
#   servers_stop DIR
#
# Every function returns non-zero with a message on standard error when it could not do its work. Without
# servers_trap a server lives on after the shell, until `servers_stop DIR`, which any other shell may call.

_SERVERS_HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
_SERVERS_CACHE=${_SERVERS_HERE}/.cache
_SERVERS_DIRS=()    # the folders of the servers started by this shell and not stopped yet
_SERVERS_TRAPPED='' # the process which set the traps: a subshell must not act for it

# Where the last server started by servers_start listens, and its process.
SERVERS_SOCKET=''
SERVERS_PID=''

_servers_say() {
    printf 'servers: %s\n' "$*" >&2
}

# ---------------------------------------------------------------------------------------------- installing

# Prints those of the given Debian packages which are not installed.
_servers_missing() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=''
        [[ $status == installed ]] || printf '%s\n' "$package"
    done
}

# Installs Debian packages without starting a service.
_servers_apt_install() {
    local policy=/usr/sbin/policy-rc.d made='' status=0
    # The server's package starts a service on most machines, and the tests want none. Debian's way to say so
    # is this script; one that is already there belongs to somebody else and is left alone.
    if [[ ! -e $policy ]] && printf '#!/bin/sh\nexit 101\n' 2>/dev/null >"$policy"; then
        chmod 755 "$policy"
        made=1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
        install -y --no-install-recommends "$@" >&2 || status=$?
    if [[ $made ]]; then rm -f -- "$policy"; fi
    return "$status"
}

# MariaDB with MyRocks, from the packages of the distribution.
servers_install_mariadb() {
    local missing
    # mariadb-plugin-rocksdb depends on mariadb-server, which holds the archive and blackhole engines.
    mapfile -t missing < <(_servers_missing mariadb-server-core mariadb-plugin-rocksdb mariadb-client)
    if ((${#missing[@]})); then
        _servers_say "installing ${missing[*]}"
        if ! apt-get -o Acquire::Retries=3 update >&2; then
            # Often only one of many sources is out of reach: whether that matters shows in the next step.
            _servers_say 'apt-get update failed; trying the lists that are there'
        fi
        if ! _servers_apt_install "${missing[@]}"; then
            _servers_say "could not install ${missing[*]}"
            return 1
        fi
    fi
    if [[ ! -x /usr/sbin/mariadbd ]]; then
        _servers_say 'the packages are installed, but there is no /usr/sbin/mariadbd'
        return 1
    fi
    export ROWCLIFF_TEST_MARIADBD=/usr/sbin/mariadbd
}

# Galera for MariaDB, and what a node needs to copy another one.
servers_install_galera() {
    local missing library
    mapfile -t missing < <(_servers_missing galera-4 rsync lsof iproute2)
    if ((${#missing[@]})); then
        _servers_say "installing ${missing[*]}"
        apt-get -o Acquire::Retries=3 update >&2 || true
        if ! _servers_apt_install "${missing[@]}"; then
            _servers_say "could not install ${missing[*]}"
            return 1
        fi
    fi
    for library in /usr/lib/galera/libgalera_smm.so /usr/lib/libgalera_smm.so; do
        if [[ -e $library ]]; then
            export ROWCLIFF_TEST_GALERA=$library
            return 0
        fi
    done
    _servers_say 'the packages are installed, but there is no libgalera_smm.so'
    return 1
}

# Prints "URI<tab>FILE" of the Debian mirror this machine uses and the file that names it.
_servers_mirror() {
    # shellcheck disable=SC2016 # apt replaces these, not the shell
    local format='$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)|$(SOURCESENTRY)'
    apt-get indextargets --format "$format" 2>/dev/null |
        awk -F'|' '$1 == "Debian" && $2 == "Debian" && $3 == "Packages" && !n++ {
            sub(/:[0-9]+$/, "", $5); print $4 "\t" $5 }'
}

# Writes a source for the sid suite of the machine's own mirror to STEM.list or STEM.sources, and prints that
# name. Everything else the machine's entry says (its key, whether it is trusted) is kept.
_servers_sid_source() {
    local stem=$1 uri file kind
    IFS=$'\t' read -r uri file < <(_servers_mirror) || return 1
    [[ -n $uri && -r $file ]] || return 1
    if [[ $file == *.sources ]]; then
        kind=sources
        # One paragraph per entry. The fields that choose what is fetched are replaced, continuation lines
        # (a key may be written into the entry) belong to the field above them.
        awk -v uri="$uri" -v RS='' -v FS='\n' '
            function bare(s) { sub(/\/+$/, "", s); return s }
            {
                hit = 0; on = 0
                for (i = 1; i <= NF; i++) {
                    if ($i ~ /^#/) continue
                    if ($i !~ /^[ \t]/) on = tolower($i) ~ /^uris:/
                    if (on) {
                        n = split($i, word, /[ \t]+/)
                        for (j = 1; j <= n; j++) if (bare(word[j]) == bare(uri)) hit = 1
                    }
                }
                if (!hit) next
                print "Types: deb\nURIs: " uri "\nSuites: sid\nComponents: main\nTargets: Packages\nLanguages: none"
                keep = 1
                for (i = 1; i <= NF; i++) {
                    if ($i ~ /^#/) continue
                    if ($i !~ /^[ \t]/)
                        keep = tolower($i) !~ /^(types|uris|suites|components|targets|languages|enabled|snapshot):/
                    if (keep) print $i
                }
                exit
            }' "$file" >"$stem.$kind"
    else
        kind=list
        awk -v uri="$uri" '
            function bare(s) { sub(/\/+$/, "", s); return s }
            $1 == "deb" {
                options = ""
                if (match($0, /\[[^]]*\]/)) options = substr($0, RSTART, RLENGTH) " "
                for (i = 2; i <= NF; i++) if (bare($i) == bare(uri)) {
                    print "deb " options uri " sid main"
                    exit
                }
            }' "$file" >"$stem.$kind"
    fi
    [[ -s $stem.$kind ]] && printf '%s\n' "$stem.$kind"
}

# Fetches MySQL's packages and unpacks them under the folder WORK, see servers_install_mysql. No part of this
# may rely on `set -e`, which bash switches off inside a condition.
_servers_build_mysql() {
    local work=$1 debs=$2 source deb name loader lib root
    local -a uris=() names=()
    mkdir -p -- "$work/lists/partial" "$work/cache" "$debs/partial" "$work/root" || return 1

    if ! source=$(_servers_sid_source "$work/sid"); then
        # A fresh machine has no package lists, and without them apt does not know its mirror.
        apt-get -o Acquire::Retries=3 update >&2 || true
        if ! source=$(_servers_sid_source "$work/sid"); then
            _servers_say 'MySQL: no Debian mirror in the apt sources of this machine'
            return 1
        fi
    fi
    # Perl is needed by a helper script only. That it is "installed" saves a sixth of the download. Nothing else
    # is: the libraries of this machine are older than those the server was built with.
    cat >"$work/status" <<END || return 1
Package: perl
Status: install ok installed
Architecture: $(dpkg --print-architecture)
Multi-Arch: allowed
Version: 999
Maintainer: nobody <nobody@localhost>
Description: stand-in
END
    # A private configuration, read after the machine's own: proxies, logins, keys and certificates stay in
    # force, the machine's package lists and pins are neither used nor touched.
    cat >"$work/apt.conf" <<END || return 1
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::SourceList "$source";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::Status "$work/status";
Dir::Cache "$work/cache";
Dir::Cache::Archives "$debs";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
APT::Sandbox::User "$(id -un)";
APT::Keep-Downloaded-Packages "true";
END
    if ! apt-get -c "$work/apt.conf" update >&2; then
        _servers_say 'MySQL: the package list of Debian sid could not be read'
        return 1
    fi
    local -a get=(apt-get -c "$work/apt.conf" -y --no-install-recommends)
    mapfile -t uris < <("${get[@]}" --print-uris -o Dir::Cache::Archives="$work/cache" install mysql-server-core)
    for deb in "${uris[@]}"; do
        # 'URI' NAME SIZE HASH
        if [[ $deb == \'* ]]; then
            read -r _ name _ <<<"$deb"
            names+=("$name")
        fi
    done
    if ((!${#names[@]})); then
        _servers_say 'MySQL: Debian sid has no mysql-server-core that can be installed'
        return 1
    fi
    if ! "${get[@]}" --download-only install mysql-server-core >&2; then
        _servers_say 'MySQL: the packages could not be fetched'
        return 1
    fi
    for name in "${names[@]}"; do
        if ! dpkg-deb -x "$debs/$name" "$work/root"; then
            _servers_say "MySQL: $name could not be unpacked"
            return 1
        fi
    done
    # Versions in sid move: what is not part of this installation will not be asked for again.
    for deb in "$debs"/*.deb; do
        name=${deb##*/}
        [[ " ${names[*]} " == *" $name "* ]] || rm -f -- "$deb"
    done
    rm -rf -- "$debs/partial" "$debs/lock" "$work/root/usr/share/doc" "$work/root/usr/share/man"

    root=$work/root
    loader=$(cd "$root" && printf '%s\n' usr/lib*/ld-linux*.so.? usr/lib/*/ld-linux*.so.? | grep -v '[*]' | head -n 1)
    lib=$(cd "$root" && printf '%s\n' usr/lib/*-linux-gnu* | head -n 1)
    if [[ ! -e $root/$loader || ! -d $root/$lib || ! -x $root/usr/sbin/mysqld ]]; then
        _servers_say 'MySQL: the packages do not hold the expected files'
        return 1
    fi
    # The wrapper finds its folder itself, so that the folder can be moved. "$@" comes first because
    # --no-defaults has to be the first argument. `exec`: the process started is the server itself.
    cat >"$root/mysqld" <<END || return 1
#!/bin/sh
# MySQL from the packages in this folder, run with the C library in this folder.
root=\$(dirname -- "\$(readlink -f -- "\$0")")
exec "\$root/$loader" --library-path "\$root/$lib:\$root/usr/lib/mysql/private" "\$root/usr/sbin/mysqld" "\$@" \\
    --basedir="\$root/usr" --lc-messages-dir="\$root/usr/share/mysql" \\
    --character-sets-dir="\$root/usr/share/mysql/charsets"
END
    chmod 755 "$root/mysqld" || return 1
    if ! "$root/mysqld" --no-defaults --version >&2; then
        _servers_say 'MySQL: the unpacked server does not start'
        return 1
    fi
}

# MySQL, which only Debian sid has, and which needs a newer C library than the stable releases: unpacked with all
# its libraries into tests/.cache/mysql. Nothing is installed on the machine.
servers_install_mysql() {
    local target=$_SERVERS_CACHE/mysql
    if [[ ! -x $target/mysqld ]]; then
        mkdir -p -- "$_SERVERS_CACHE" || return 1
        # In a subshell, so that the lock goes with it. The folder appears under its name only when it is
        # complete, so an interrupted installation is never taken for a finished one.
        (
            flock 9 || exit 1
            [[ ! -x $target/mysqld ]] || exit 0 # somebody else was faster
            rm -rf -- "$_SERVERS_CACHE"/mysql.new.* # left by an interrupted installation
            work=$(mktemp -d "$_SERVERS_CACHE/mysql.new.XXXXXX") || exit 1
            # shellcheck disable=SC2064 # the name as it is now
            trap "rm -rf -- '$work'" EXIT
            trap 'exit 130' INT
            trap 'exit 143' TERM HUP
            _servers_say 'fetching MySQL from Debian sid'
            _servers_build_mysql "$work" "$_SERVERS_CACHE/debs" || exit 1
            rm -rf -- "$target"
            mv -T -- "$work/root" "$target"
        ) 9>"$_SERVERS_CACHE/lock" || {
            _servers_say 'MySQL could not be had'
            return 1
        }
    fi
    export ROWCLIFF_TEST_MYSQLD=$target/mysqld
}

# ------------------------------------------------------------------------------------- starting and stopping

# Prints "mariadb" or "mysql".
_servers_flavour() {
    local version
    version=$("$1" --no-defaults --version 2>/dev/null) || version=$("$1" --version 2>/dev/null) || return 1
    case $version in
    *MariaDB*) printf 'mariadb\n' ;;
    *mysql* | *MySQL*) printf 'mysql\n' ;;
    *) return 1 ;;
    esac
}

# Prints the path of a program of the server's own installation, else of the search path.
_servers_tool() {
    local binary=$1 tool=$2 prefix place
    prefix=$(dirname -- "$(dirname -- "$(readlink -f -- "$binary")")")
    for place in "$prefix/bin" "$prefix/scripts"; do
        if [[ -x $place/$tool ]]; then
            printf '%s\n' "$place/$tool"
            return 0
        fi
    done
    command -v "$tool"
}

# Whether process PID runs and is the server of folder DIR. A pid file may be old and its number somebody else's
# by now; a process which has ended and was not waited for has an empty command line.
_servers_runs() {
    local pid=$1 dir=$2 word
    [[ $pid =~ ^[0-9]+$ && -r /proc/$pid/cmdline ]] || return 1
    while IFS= read -r -d '' word; do
        if [[ $word == "--datadir=$dir/data" ]]; then return 0; fi
    done 2>/dev/null <"/proc/$pid/cmdline"
    return 1
}

_servers_fail() {
    local name=$1 dir=$2 what=$3 file
    local -a files=(error.log console.log)
    if [[ ! -e $dir/initialised ]]; then files=(init.log); fi
    _servers_say "$name: $what"
    for file in "${files[@]}"; do
        if [[ -s $dir/$file ]]; then
            printf -- '--- the end of %s\n' "$dir/$file" >&2
            tail -n 25 -- "$dir/$file" >&2
        fi
    done
}

# servers_start NAME BINARY DIR [OPTION...]
#
# Starts a server with its data in DIR/data, made on the first call, and waits until it answers. NAME is used in
# messages only. User root has no password; there is a database `test`. Leaves in DIR: `pid`, `socket` (the path of
# the socket, also in SERVERS_SOCKET), `error.log`. A server that was stopped can be started again with its data.
servers_start() {
    if (($# < 3)); then
        _servers_say 'usage: servers_start NAME BINARY DIR [OPTION...]'
        return 2
    fi
    local name=$1 binary=$2 dir=$3 flavour tool socket pid old deadline monitor=''
    local -a common=(--no-defaults) options=() guard=()
    shift 3
    SERVERS_SOCKET=''
    SERVERS_PID=''

    binary=$(command -v -- "$binary") || { _servers_say "$name: no such server program"; return 1; }
    flavour=$(_servers_flavour "$binary") || { _servers_say "$name: $binary is no MariaDB or MySQL server"; return 1; }
    (umask 077 && mkdir -p -- "$dir") && dir=$(cd -- "$dir" && pwd -P) || return 1
    old=$(cat -- "$dir/pid" 2>/dev/null) || old=''
    if _servers_runs "$old" "$dir"; then
        _servers_say "$name: $dir has a running server already (process $old)"
        return 1
    fi

    # Both servers refuse to run as root unless told so in so many words.
    if ((EUID == 0)); then common+=(--user=root); fi

    if [[ ! -e $dir/initialised ]]; then
        if [[ -e $dir/data ]]; then
            _servers_say "$name: $dir/data exists and was not finished by servers_start"
            return 1
        fi
        mkdir -m 700 -- "$dir/data" || return 1
        if [[ $flavour == mariadb ]]; then
            if ! tool=$(_servers_tool "$binary" mariadb-install-db); then
                _servers_say "$name: mariadb-install-db is missing"
                return 1
            fi
            "$tool" "${common[@]}" --datadir="$dir/data" --auth-root-authentication-method=normal \
                --skip-test-db </dev/null >"$dir/init.log" 2>&1
        else
            "$binary" "${common[@]}" --datadir="$dir/data" --initialize-insecure </dev/null >"$dir/init.log" 2>&1
        fi || {
            _servers_fail "$name" "$dir" 'the data directory could not be made'
            return 1
        }
        : >"$dir/initialised"
    fi

    # The path of a Unix socket ends at 107 bytes; the server says so only after it has started.
    socket=$dir/s.sock
    if (($(printf '%s' "$socket" | wc -c) > 100)); then
        socket=$(mktemp -d /tmp/rowcliff.XXXXXX)/s.sock || return 1
    fi
    printf '%s\n' "$socket" >"$dir/socket"
    # The server runs this before it takes connections. A client would do, but not every client has the login
    # method of every server.
    printf 'CREATE DATABASE IF NOT EXISTS test;\n' >"$dir/init.sql"

    options=(--datadir="$dir/data" --socket="$socket" --pid-file="$dir/server.pid" --log-error="$dir/error.log"
        --init-file="$dir/init.sql" --skip-networking --skip-log-bin --local-infile=1)
    if [[ $flavour == mariadb ]]; then
        options+=(--plugin-load-add=ha_rocksdb --plugin-load-add=ha_archive --plugin-load-add=ha_blackhole)
    else
        options+=(--mysqlx=OFF --secure-file-priv=NULL)
    fi
    # A shell with traps promises that its servers end with it. The traps do not run when it is killed with
    # signal 9; this does.
    if [[ $_SERVERS_TRAPPED == "$BASHPID" ]] && setpriv --pdeathsig KILL true 2>/dev/null; then
        guard=(setpriv --pdeathsig KILL)
    fi
    for old in error.log console.log; do
        if [[ -e $dir/$old ]]; then mv -f -- "$dir/$old" "$dir/$old.old"; fi
    done

    # Job control gives the server its own process group: Ctrl-C at a terminal reaches this shell only, which then
    # stops the server in order.
    if [[ $- == *m* ]]; then monitor=1; else set -m; fi
    "${guard[@]}" "$binary" "${common[@]}" "${options[@]}" "$@" </dev/null >"$dir/console.log" 2>&1 &
    pid=$!
    if [[ ! $monitor ]]; then set +m; fi
    printf '%s\n' "$pid" >"$dir/pid"
    _SERVERS_DIRS+=("$dir")

    deadline=$((SECONDS + 60))
    until _servers_answers "$flavour" "$binary" "$dir" "$socket"; do
        if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
            _servers_fail "$name" "$dir" 'the server did not start'
            servers_stop "$dir"
            return 1
        fi
        sleep 0.05
    done
    # shellcheck disable=SC2034 # for the caller
    SERVERS_SOCKET=$socket SERVERS_PID=$pid
}

_servers_answers() {
    local flavour=$1 binary=$2 dir=$3 socket=$4 tool
    [[ -S $socket ]] && grep -q 'ready for connections' "$dir/error.log" 2>/dev/null || return 1
    if [[ $flavour == mariadb ]] && tool=$(_servers_tool "$binary" mariadb-admin); then
        "$tool" --no-defaults --user=root --socket="$socket" ping >/dev/null 2>&1
    fi
}

# servers_stop DIR: ends the server of that folder; the data stay. Nothing happens when none runs.
servers_stop() {
    local dir=$1 pid socket known keep=() i
    dir=$(cd -- "$dir" 2>/dev/null && pwd -P) || return 0
    pid=$(cat -- "$dir/pid" 2>/dev/null) || pid=''
    if _servers_runs "$pid" "$dir"; then
        kill -TERM "$pid" 2>/dev/null
        for ((i = 0; i < 600; i++)); do
            _servers_runs "$pid" "$dir" || break
            sleep 0.05
        done
        if _servers_runs "$pid" "$dir"; then
            _servers_say "process $pid of $dir did not end within 30 s: killed"
            kill -KILL "$pid" 2>/dev/null
            for ((i = 0; i < 200; i++)); do
                _servers_runs "$pid" "$dir" || break
                sleep 0.05
            done
        fi
    fi
    for known in "${_SERVERS_DIRS[@]}"; do
        if [[ $known == "$dir" ]]; then
            wait "$pid" 2>/dev/null || true # collects the ended process; nobody else's can be waited for
        else
            keep+=("$known")
        fi
    done
    _SERVERS_DIRS=("${keep[@]}")
    socket=$(cat -- "$dir/socket" 2>/dev/null) || socket=''
    if [[ $socket == /tmp/rowcliff.*/s.sock ]]; then rm -rf -- "${socket%/s.sock}"; fi
    rm -f -- "$dir/pid" "$dir/socket"
    ! _servers_runs "$pid" "$dir"
}

# Ends all servers started by this shell.
servers_stop_all() {
    local dir pid
    # All of them get the signal first, so that they shut down at the same time.
    for dir in "${_SERVERS_DIRS[@]}"; do
        pid=$(cat -- "$dir/pid" 2>/dev/null) || pid=''
        if _servers_runs "$pid" "$dir"; then kill -TERM "$pid" 2>/dev/null; fi
    done
    for dir in "${_SERVERS_DIRS[@]}"; do
        servers_stop "$dir"
    done
}

# servers_trap [BEFORE [AFTER]]: from now on this shell's end, by itself or by SIGINT, SIGTERM or SIGHUP, ends the
# servers it started. The commands BEFORE and AFTER run before and after that.
#
# Bash runs a trap only when its foreground command has ended. A script that wants to react at once runs long
# commands as `command & wait $!` and ends them in BEFORE. A signal that was ignored when bash started, as SIGINT
# is for a background job of a script, cannot be trapped.
servers_trap() {
    _SERVERS_TRAPPED=$BASHPID
    _SERVERS_BEFORE=${1-}
    _SERVERS_AFTER=${2-}
    trap _servers_exit EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

_servers_exit() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP # a second signal must not stop the cleaning up, which takes a bounded time
    if [[ $_SERVERS_TRAPPED == "$BASHPID" ]]; then
        eval "$_SERVERS_BEFORE" || true
        servers_stop_all || true
        eval "$_SERVERS_AFTER" || true
    fi
    exit "$status"
}
