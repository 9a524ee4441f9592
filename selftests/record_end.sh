#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What happens to a recording from outside: signals that are ignored, commands that do
# not end, sessions and events that are taken away, CPUs that come, files that go; and
# that it ends well nevertheless. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand
# shellcheck disable=SC2012 # names without anything odd

dir=$(mktemp -d /tmp/end.XXXXXX) || exit 1
cpu1=/sys/devices/system/cpu/cpu1/online
recorder=
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

finish() {
	[ -z "$recorder" ] || kill -KILL "$recorder" 2>/dev/null
	echo 1 >$cpu1
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 18

# Record in the background, until end_of.
start() { # options...
	ran="ktbctl record $*"
	rm -f "$file"*
	ktbctl record --json -o "$file" "$@" >"$out" 2>"$err" &
	recorder=$!
	wait_for 'ktbctl status | grep -q "reader: process $recorder"'
	wait_for '! ktbctl status | grep -q disabled'
}

end_of() { # signal, or 0 for none
	[ "$1" = 0 ] || kill -"$1" "$recorder"
	wait "$recorder"
	status=$?
	recorder=
	cp "$err" "$dir/closing"
}

samples_in() { ktbctl script -i "$1" 2>/dev/null | wc -l; }
lost_in() { ktbctl report --json -i "$1" 2>/dev/null | sed -n 's/^  "lost"://p'; }
files() { ls "$file".2* 2>/dev/null; }

# ---- sessions without records ----

ktbctl attach sched:sched_switch --count-only -s counts >/dev/null
for mode in --threads --no-threads; do
	run ktbctl record $mode -s counts -o "$file" true
	check "a session that only counts, $mode" failed 'complains "counts. only counts: it has no records"' \
		'[ ! -e "$file" ]'
done
run ktbctl read -s counts
check "it cannot be read either" failed 'complains "only counts"'
ktbctl detach -s counts >/dev/null

# ---- what we inherit ----

run "$here/ignoring" CHLD ktbctl record -e sched:sched_switch -o "$file" -- sh -c 'exit 5'
check "SIGCHLD is ignored: the command's end is seen" '[ $status -eq 5 ]'
run "$here/ignoring" CHLD ktbctl stat -e sched:sched_switch -- sh -c 'exit 5'
check "by stat, too" '[ $status -eq 5 ]'

ran="nohup ktbctl record"
rm -f "$file"
"$here/ignoring" HUP ktbctl record --json -o "$file" -e sched:sched_switch --switch-output >"$out" 2>"$err" &
recorder=$!
wait_for 'ktbctl status | grep -q "reader: process $recorder"'
wait_for '! ktbctl status | grep -q disabled'
kill -HUP $recorder
kill -USR2 $recorder
check "SIGHUP is ignored: it goes on" 'wait_for "[ \$(files | wc -l) -eq 1 ] && [ -e $file ]"'
end_of INT
check "until ^C" done_ ledger_is_exact

run sh -c "ulimit -S -n 12; exec ktbctl record --json -e sched:sched_switch -o '$file' -- sh -c 'ulimit -n >limit'"
check "few open files are allowed, and more can be had: not by the command" done_ '[ "$(cat limit)" = 12 ]'

# ---- the command ----

start -e raw_syscalls:sys_enter -- sh -c 'trap "" TERM; echo $$ >command; while :; do sleep 1; done'
wait_for '[ -s command ]'
kill -TERM "$recorder"
check "the command does not end: the file is finished" 'wait_for "ktbctl report -i $file >/dev/null 2>&1"' \
	'kill -0 "$(cat command)"' 'kill -0 $recorder'
end_of TERM
check "and another signal ends the wait" '[ $status -eq 143 ]' ledger_is_exact \
	'[ "$(samples_in "$file")" -eq "$(counter samples)" ]'
kill -KILL "$(cat command)"

# ---- the session ----

start -e raw_syscalls:sys_enter
ktbctl detach -s "record-$recorder" >/dev/null
end_of 0
check "somebody removes the session" done_ 'closing | grep -q "\"samples\":null.*\"removed\":true"' nothing_left \
	'[ "$(samples_in "$file")" -gt 0 ]'
start -e raw_syscalls:sys_enter,sched:sched_switch
ktbctl detach sched:sched_switch -s "record-$recorder" >/dev/null
end_of INT
check "or detaches an event" done_ 'closing | grep -q "\"samples\":null.*\"removed\":false"' nothing_left \
	'[ "$(samples_in "$file")" -gt 0 ]'

# ---- CPUs ----

# Which name a task has is told by the CPU where it gets it.
printf '#!/bin/sh\nread -r text </proc/self/comm\n' >newcomer
chmod +x newcomer
for mode in --threads --no-threads; do
	echo 0 >$cpu1
	start $mode -e raw_syscalls:sys_enter
	echo 1 >$cpu1
	wait_for '[ "$(ls -l /proc/$recorder/fd | grep -c perf_event)" -ge 2 ]'
	taskset 2 ./newcomer
	end_of INT
	check "a CPU that comes: its records, and the names of its tasks, $mode" done_ ledger_is_exact \
		'ktbctl script -i "$file" | grep -q "newcomer .*\[001\]"' '[ "$(samples_in "$file")" -eq "$(counter samples)" ]'
done

# ---- several files ----

start -e raw_syscalls:sys_enter -m 4K --switch-output
kill -STOP $recorder
dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null
kill -CONT $recorder
kill -USR2 $recorder
wait_for '[ "$(files | wc -l)" -eq 1 ] && [ -e $file ]'
end_of INT
check "each file states the losses that are its own" done_ ledger_is_exact '[ "$(files | wc -l)" -eq 2 ]' \
	'[ "$(counter lost)" -gt 0 ]' \
	'[ "$(for one in $(files); do lost_in "$one"; done | awk "{ sum += \$1 } END { print sum + 0 }")" -eq "$(counter lost)" ]'
check "and the first of them has them" '[ "$(lost_in "$(files | head -n 1)")" -gt 3000 ]'

rm -f "$file"*
record -e module:module_load --switch-output=1K -- sleep 3
check "more is known in the beginning than a file is to have" done_ '[ "$(files | wc -l)" -le 3 ]'

start -e sched:sched_switch --switch-output
rm "$file"
kill -USR2 $recorder
end_of 0
check "the file is gone: that is told, once" failed '[ "$(grep -c "cannot rename" "$err")" -eq 1 ]' nothing_left

end_tests
