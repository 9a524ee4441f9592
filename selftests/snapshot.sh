#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl snapshot: what an overwrite session has kept, under load and again and
# again, that perf prints as many samples as were told, and what is refused. Runs
# in the guest's busybox sh.
#
# shellcheck disable=SC2016 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/snapshot.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
load='' reader=''

finish() {
	stop_load
	[ -z "$reader" ] || kill "$reader" 2>/dev/null
	umount "$dir/small" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# System calls and switches without end, with rests for the others.
start_load() {
	sh -c 'while :; do dd if=/dev/zero of=/dev/null bs=1 count=1000; usleep 10000; done' 2>/dev/null &
	load=$!
}

stop_load() {
	[ -n "$load" ] || return 0
	kill "$load"
	wait "$load" 2>/dev/null
	load=
}

# Of the closing line of --json: its own counters stand before its events'.
total() { closing | sed 's/"events":.*//' | grep -o "\"$1\":[0-9]*" | cut -d : -f 2; }
sum() { closing | sed 's/.*"events"://' | grep -o "\"$1\":[0-9]*" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

snapshot() {
	run ktbctl snapshot --json -o "$file" "$@"
	cp "$err" "$dir/closing"
}

# Of what was ever written, each sample is in the file or was overwritten.
accounts() {
	[ "$(sum written)" -eq $(($(total samples) - $(total detached) + $(total overwritten))) ] &&
		[ "$(sum samples)" -eq $(($(total samples) - $(total detached))) ]
}

# Time of the newest sample, in seconds.
newest() { tail -n 1 "$out" | sed 's/.*\] *\([0-9.]*\):.*/\1/'; }
is_younger() { newest | awk "{ exit !(\$1 > $before) }"; }
as_many_as_told() { [ "$(wc -l <"$out")" -eq "$(total samples)" ]; }

# Of the ledger of session "flight", until now.
counted() { # counter
	ktbctl --json status -s flight | tr -d ' \n' | grep -o "\"$1\":[0-9]*" |
		awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# The rings take records, each CPU's: what hits a frozen one is lost.
goes_on() {
	so_far=$(counted written) lost=$(counted lost_full)
	taskset 1 true
	taskset 2 true
	[ "$(counted written)" -gt "$so_far" ] && [ "$(counted lost_full)" -eq "$lost" ]
}

begin_tests 32

# ---- wrong arguments, and what has no snapshots ----

run ktbctl snapshot --no-such-option
check "unknown option" usage 'complains no-such-option'
run ktbctl snapshot flight
check "a session without -s" usage 'complains "named by -s"'
run ktbctl snapshot -o -
check "-o -" usage 'complains "has to be a file"'
run ktbctl snapshot
check "no session" failed 'complains "no session .default."' '[ ! -e perf.data ]'
run su nobody -s /bin/sh -c 'ktbctl snapshot -s flight -o /tmp/nobody.data'
check "as nobody" failed 'complains CAP_PERFMON' '[ ! -e /tmp/nobody.data ]'
ktbctl attach sched:sched_switch >/dev/null
run ktbctl snapshot
check "an ordinary session has no snapshots" failed 'complains "keeps the oldest records"' \
	'complains "attach --overwrite"' '[ ! -e perf.data ]'
run ktbctl attach --overwrite raw_syscalls:sys_enter
check "nor is it made to overwrite" failed 'complains "leave out --overwrite"' \
	'! ktbctl status | grep -q raw_syscalls'
ktbctl detach >/dev/null

# ---- an overwrite session ----

start_load
run ktbctl attach --overwrite raw_syscalls:sys_enter sched:sched_switch -s flight -m 16K
check "attach --overwrite" done_ 'says "newest 16K per CPU, new"' quiet
run ktbctl attach --overwrite --json sched:sched_wakeup -s flight
check "one more event to it" done_ is_json 'tr -d " \n" <"$out" | grep -q "\"overwrite\":true"'
run ktbctl attach sched:sched_process_exit -s flight
check "also without --overwrite" done_ 'says "newest 16K per CPU$"'
run ktbctl status -s flight
check "status" done_ 'says "newest 16K per CPU"' '! says damaged'
run ktbctl read -s flight
check "read is refused" failed 'complains "use .ktbctl snapshot -s flight."' '[ ! -s "$out" ]'
run ktbctl record -s flight true
check "record is refused" failed 'complains "use .ktbctl snapshot -s flight."' '[ ! -e perf.data ]'

# ---- snapshots under load ----

wait_for '[ "$(counted written)" -gt 5000 ]'
snapshot -s flight
check "snapshot" done_ '[ "$(total samples)" -gt 50 ]' '[ "$(total overwritten)" -gt 1000 ]' \
	'[ "$(total missing)" -eq 0 ]'
check "each sample is in it or was overwritten" accounts
check "the rings go on" goes_on
script
check_perf "perf script prints every sample" done_ as_many_as_told 'says " raw_syscalls:sys_enter: NR [0-9]* ("'
# Of itself, the system call that froze the rings is the last that was traced.
check_perf "up to the newest" '[ "$(uname -m)" != x86_64 ] ||
	grep " ktbctl .*raw_syscalls:sys_enter:" "$out" | tail -n 1 | grep -q "NR 16 ("'
check_perf "names of threads" 'says "^ *ktbctl *[0-9]"'
before=$(newest)

snapshot -s flight
check "another snapshot" done_ accounts '[ "$(total samples)" -gt 50 ]' '[ -e perf.data.old ]'
script
check_perf "perf script prints every sample" done_ as_many_as_told
check_perf "which are younger ones" is_younger

wrong=0
for round in 1 2 3 4 5; do
	snapshot -s flight
	if ! done_ || ! accounts || [ "$(total samples)" -le 50 ]; then
		wrong=$((wrong + 1))
		echo "# round $round"
		explain
	fi
done
check "again and again" '[ $wrong -eq 0 ]' goes_on

run ktbctl snapshot -s flight
check "without -o, told as text" done_ '[ ! -s "$out" ]' \
	'complains "perf.data: [0-9]* samples, [0-9]* bytes of records, [0-9]* overwritten, [0-9]* lost"' \
	'complains "  sched:sched_switch: [0-9]* samples"'
ktbctl detach sched:sched_wakeup -s flight >/dev/null
snapshot -s flight
check "an event was detached" done_ accounts '[ "$(total samples)" -gt 50 ]'

# ---- what goes wrong leaves no ring frozen ----

run ktbctl snapshot -s flight -o /no/such/directory
check "no such directory" failed 'complains "No such file or directory"' goes_on
run ktbctl snapshot -s flight -o "$dir"
check "the file is a directory" failed 'complains directory' goes_on
mkdir small
mount -t tmpfs -o size=8k small small
run ktbctl snapshot -s flight -o small/perf.data
check "no room for a beginning" failed 'complains "No space left on device"' '[ ! -e small/perf.data ]' goes_on
umount small

# What a killed snapshot leaves: a descriptor that was closed while it froze.
wrong=0
for round in $(seq 5 5 100); do
	ktbctl snapshot -s flight -o "$file" >/dev/null 2>&1 &
	reader=$!
	usleep "${round}000"
	kill -9 "$reader" 2>/dev/null
	wait "$reader" 2>/dev/null
	reader=
	goes_on || wrong=$((wrong + 1))
done
check "killed" '[ $wrong -eq 0 ]'
snapshot -s flight
check "and then a snapshot" done_ accounts '[ "$(total samples)" -gt 50 ]'

# ---- the end ----

stop_load
run ktbctl detach -s flight
check "detach" done_ '! ktbctl status | grep -q flight'
run ktbctl snapshot -s flight
check "the session is gone" failed 'complains "no session .flight."'

end_tests
