#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl record's ways to write: compressed, by threads, in several files, up to a
# size; that losses are stated exactly, and what is shown on a terminal. Runs in
# the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand
# shellcheck disable=SC2086,SC2012 # lists of words; names without anything odd

dir=$(mktemp -d /tmp/modes.XXXXXX) || exit 1
recorder=
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

finish() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	umount "$dir/small" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 40

many='dd if=/dev/zero of=/dev/null bs=1 count=4000'
# The same on one CPU and the other, in turns.
busy='for cpu in 1 2 1 2; do taskset $cpu dd if=/dev/zero of=/dev/null bs=1 count=600 2>/dev/null; done'

# The samples that ktbctl itself finds in a file.
read_back() { ktbctl script -i "${1:-$file}" 2>/dev/null | wc -l; }
reads_all() { [ "$(read_back)" -eq "$(counter samples)" ]; }
reads_lost() { [ "$(ktbctl report --json -i "$file" 2>/dev/null | sed -n 's/^  "lost"://p')" -eq "$(counter lost)" ]; }
in_order() { awk '{ time = $0; sub(/.*\] +/, "", time); time += 0; if (time < last) exit 1; last = time }' "$1"; }

# ---- wrong arguments ----

run ktbctl record -e sched:sched_switch -z0 true
check "-z0" usage 'complains "at least 1"'
run ktbctl record -e sched:sched_switch -z23 true
check "-z23" usage 'complains "too large"'
run ktbctl record -e sched:sched_switch --max-size 0 true
check "--max-size 0" usage 'complains "holds nothing"'
run ktbctl record -e sched:sched_switch --switch-output=10 true
check "--switch-output=10" usage 'complains "nor a size (100M), nor a time"'
run ktbctl record -e sched:sched_switch --switch-max-files 2 true
check "--switch-max-files alone" usage 'complains "[-]-switch-output"'
run ktbctl record -e sched:sched_switch --clockid realtime true
check "--clockid realtime" usage 'complains "CLOCK_MONOTONIC and no other"' '[ ! -e perf.data ]'
run ktbctl record -e sched:sched_switch --clockid monotonic true
check "--clockid monotonic" done_

# ---- compressed ----

record -m 8M -e raw_syscalls:sys_enter,sched:sched_switch -- $many
check "plain, to compare with" done_ reads_all
plain=$(counter bytes) per_plain=$((plain / $(counter samples)))
record -z -m 8M -e raw_syscalls:sys_enter,sched:sched_switch -- $many
check "compressed" done_ ledger_is_exact '[ "$(counter missing)" -eq 0 ]' reads_all
check "it is less than a third" '[ $(($(counter bytes) / $(counter samples) * 3)) -lt $per_plain ]'
script
check_perf "perf expands it" done_ quiet as_many_as_written
cp "$out" perf.lines
run perf report --header-only -i "$file"
check_perf "perf knows that it is compressed" 'says "compressed : Zstd, level = 1, ratio = [1-9]"' \
	'says "time of last sample : [1-9]"'
run ktbctl script -i "$file"
check_perf "and prints what we print" done_ 'cmp -s "$out" perf.lines'

# ---- threads ----

for mode in --threads '--threads -z' --no-threads; do
	record $mode -m 8M -e raw_syscalls:sys_enter,sched:sched_switch -- sh -c "$busy"
	check "two CPUs, $mode" done_ ledger_is_exact '[ "$(counter missing)" -eq 0 ]' \
		'[ "$(counter samples)" -gt 4800 ]' reads_all nothing_left
	run ktbctl script -i "$file"
	check "in order $mode" done_ '! complains "not in the order"' 'in_order "$out"'
	script
	check_perf "perf reads it $mode" done_ quiet as_many_as_written 'in_order "$out"'
done
record --threads -e raw_syscalls:sys_enter -C 0 -- sh -c 'exit 5'
check "one thread, and the command's exit status" '[ $status -eq 5 ]' reads_all

# ---- who goes first ----

# Start a recorder with a priority; sets $of_recorder and $of_command.
priorities() { # nice
	rm -f nice
	ran="ktbctl record as nice $1"
	sh -c 'renice -n "$1" -p $$ >/dev/null; shift; exec "$@"' sh "$1" ktbctl record -e sched:sched_switch -o "$file" -- \
		sh -c 'awk "{ print \$19 }" /proc/self/stat >nice; exec sleep 20' 2>"$err" &
	recorder=$!
	wait_for '[ -s nice ]'
	of_recorder=$(cat /proc/$recorder/task/*/stat | sed 's/.*) //' | cut -d ' ' -f 17 | sort -u)
	of_command=$(cat nice)
	kill -INT $recorder
	wait $recorder
	recorder=
}
priorities 0
check "the recorder goes first, and the command does not" '[ "$of_recorder" = -20 ]' '[ "$of_command" = 0 ]'
priorities 5
check "unless it was started otherwise" '[ "$of_recorder" = 5 ]' '[ "$of_command" = 5 ]'

# ---- losses ----

# The recorder stands still, or it may well keep up.
record -m 4K -e raw_syscalls:sys_enter -- sh -c 'kill -STOP $PPID; '"$many"'; kill -CONT $PPID'
check "a ring too small" done_ ledger_is_exact '[ "$(counter lost)" -gt 0 ]' reads_all
check "the file states exactly what was lost" reads_lost
run perf report --stdio -i "$file"
check_perf "perf tells it" done_ "says \"Total Lost Samples: \$(counter lost)\$\""

# ---- a full disk ----

mkdir small
size=96k
for mode in -z --threads --no-threads; do
	mount -t tmpfs -o size=$size small small
	size=256k file=$dir/small/perf.data
	record $mode -e raw_syscalls:sys_enter -m 4M -- dd if=/dev/zero of=/dev/null bs=1 count=20000
	check "a full disk, $mode" failed 'complains "No space left on device"' 'complains "can be read"' \
		'[ "$(counter missing)" -gt 0 ]' ledger_is_exact \
		'[ "$(counter written)" -eq $(($(counter samples) + $(counter missing))) ]' reads_all nothing_left
	umount small
	file=$dir/perf.data
done

# ---- several files ----

record --max-size 200K -e raw_syscalls:sys_enter -- sh -c "$busy; sleep 20"
check "--max-size ends it" done_ '[ "$(counter bytes)" -ge 204800 ]' '[ "$(counter missing)" -eq 0 ]' reads_all

sum_of_files() { for one in perf.data.2*; do read_back "$one"; done | awk '{ sum += $1 } END { print sum + 0 }'; }
rm -f perf.data*
record --switch-output=100K -m 256K -e raw_syscalls:sys_enter -- sh -c "$busy"
check "--switch-output=SIZE" done_ '[ "$(ls perf.data.2* | wc -l)" -ge 2 ]' '[ ! -e perf.data ]' '[ ! -e perf.data.old ]'
check "no sample is missing, and none twice" ledger_is_exact '[ "$(sum_of_files)" -eq "$(counter samples)" ]'
all_sound() { for one in perf.data.2*; do perf script -i "$one" >/dev/null 2>&1 || return 1; done; }
names_known() { ! perf script -i "$(ls perf.data.2* | tail -n 1)" -F comm 2>/dev/null | grep -q '^ *:[0-9]'; }
check_perf "each is complete" all_sound names_known

rm -f perf.data*
record --threads --switch-output=50K --switch-max-files 2 -e raw_syscalls:sys_enter -- \
	sh -c "$busy; usleep 400000; $busy; usleep 400000; $busy"
check "--switch-max-files" done_ '[ "$(ls perf.data.2* | wc -l)" -eq 2 ]'

rm -f perf.data*
ktbctl record --json --switch-output -e raw_syscalls:sys_enter -o "$file" >"$out" 2>"$err" &
recorder=$!
ran='record --switch-output'
wait_for 'ktbctl status | grep -q "reader: process $recorder"'
usleep 100000
kill -USR2 "$recorder"
wait_for '[ "$(ls perf.data.2* 2>/dev/null | wc -l)" -eq 1 ]'
usleep 100000
kill -INT "$recorder"
wait "$recorder"
status=$? recorder=
cp "$err" "$dir/closing"
check "SIGUSR2, and then ^C" done_ '[ "$(ls perf.data.2* | wc -l)" -eq 2 ]' '[ "$(sum_of_files)" -eq "$(counter samples)" ]'

rm -f perf.data*
record --switch-output=1s -e sched:sched_switch -- sleep 2.2
check "--switch-output=TIME" done_ '[ "$(ls perf.data.2* | wc -l)" -ge 2 ]'

# ---- a terminal ----

rm -f perf.data*
run "$here/on_terminal" ktbctl record -e sched:sched_switch -o "$file" -- sleep 3
check "a terminal is shown how far it is" done_ 'says "MB/s, [0-9]* lost"' 'says "sched:sched_switch: [0-9]* hits"'
run ktbctl record -e sched:sched_switch -o "$file" -- sleep 1.2
check "else nothing is" done_ '! complains "MB/s"' 'complains "sched:sched_switch: [0-9]* hits"'

end_tests
