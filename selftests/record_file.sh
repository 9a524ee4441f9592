#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl record, and what perf makes of its files: that as many samples are
# printed as were written, of the right events, threads and fields, and that a
# file is sound however the recording ended. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/record.XXXXXX) || exit 1
recorder=
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

finish() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	umount "$dir/small" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 44

# ---- wrong arguments ----

run ktbctl record
check "record of nothing" usage 'complains "which events"'
run ktbctl record -e sched:sched_switch -s default
check "-e and -s" usage 'complains "either -e or -s"'
run ktbctl record -s default -m 1M
check "-s and -m" usage 'complains "[-]m is for -e"'
run ktbctl record -e sched:sched_switch -c 0
check "-c 0" usage 'complains "at least 1"'
run ktbctl record -e sched:sched_swich true
check "unknown event" failed 'complains "did you mean sched:sched_switch"' '[ ! -e perf.data ]'
run ktbctl record -s no_such true
check "unknown session" failed 'complains "no session .no_such."' '[ ! -e perf.data ]'
run ktbctl record -e sched:sched_switch -C 4000 true
check "unknown CPU" failed 'complains "CPU 4000"' nothing_left '[ ! -e perf.data ]'
run ktbctl record -e sched:sched_switch -o /no/such/directory true
check "no such directory" failed 'complains "No such file or directory"' nothing_left
run ktbctl record -e sched:sched_switch -o "$dir" true
check "the file is a directory" failed 'complains "directory"' nothing_left
mkfifo fifo
run ktbctl record -e sched:sched_switch -o fifo true
check "the file is a pipe" failed 'complains "is no file"' nothing_left
run ktbctl record -e sched:sched_switch -- /no/such/command
check "no such command" failed 'complains "cannot run ./no/such/command."' nothing_left
rm -f perf.data
run su nobody -s /bin/sh -c "ktbctl record -e sched:sched_switch -o /tmp/nobody.data true"
check "as nobody" failed 'complains CAP_PERFMON' nothing_left '[ ! -e /tmp/nobody.data ]'

# ---- a small workload ----

workload='for i in 1 2 3 4 5; do ls / >/dev/null; usleep 2000; done; exec cat /proc/uptime'
day=$(date +%F)
record -e sched:sched_switch,raw_syscalls:sys_enter -e sched:sched_wakeup -- sh -c "$workload"
check "record" done_ 'says "^[0-9.]* [0-9.]*$"' '[ "$(counter samples)" -gt 100 ]' nothing_left
check "its ledger is exact, and nothing is missing" ledger_is_exact \
	'[ "$(counter written)" -eq "$(counter samples)" ]' '[ "$(counter missing)" -eq 0 ]' \
	'[ "$(counter lost)" -eq 0 ]'
script
check_perf "perf script prints every sample" done_ quiet as_many_as_written
check_perf "events and fields" 'says " sched:sched_switch: prev_comm=.* next_prio="' \
	'says " sched:sched_wakeup: comm=.* target_cpu="' \
	'says " raw_syscalls:sys_enter: NR [0-9]* ("' \
	'all_have sched:sched_switch "prev_pid=[0-9]* .* ==> next_comm="' \
	'all_have raw_syscalls:sys_enter "NR -*[0-9]* (.*)$"'
check_perf "names of threads that ran before, and of new ones" 'says "^ *swapper *0 "' \
	'says "^ *ls *[0-9]"' 'says "^ *cat *[0-9]"' '! says "^ *:[0-9]"'
# comm, tid and the switch's own fields tell the same thread.
check_perf "the thread of a switch is the previous one" \
	'[ "$(awk "/sched:sched_switch:/ { sub(/.*prev_pid=/, \"\", \$0); n++ } END { print n + 0 }" "$out")" -gt 10 ]' \
	'! awk "/ sched:sched_switch:/ { tid = \$0; sub(/ \[[0-9]+\].*/, \"\", tid); sub(/.* /, \"\", tid);
		prev = \$0; sub(/.*prev_pid=/, \"\", prev); sub(/ .*/, \"\", prev); print tid == prev }" "$out" | grep -q 0'
check_perf "times in order" \
	'awk "{ time = \$0; sub(/.*\] +/, \"\", time); time += 0; if (time < last) exit 1; last = time }" "$out"'
run perf evlist -i "$file"
check_perf "perf evlist" done_ 'says "^sched:sched_switch$"' 'says "^raw_syscalls:sys_enter$"'
run perf report --stdio -i "$file"
check_perf "perf report" done_ 'says "of event .sched:sched_switch."' 'says "%  ls "' 'says __schedule'
run perf report --header-only -i "$file"
check_perf "the header" done_ "says \"hostname : $(hostname)\"" "says \"os release : $(uname -r)\"" \
	"says \"arch : $(uname -m)\"" "says \"nrcpus online : $(nproc)\"" 'says "cpudesc : ."' 'says "total memory : [1-9]"' \
	'says "event : name = sched:sched_switch, .*id = {"' \
	'says "cmdline : .*ktbctl record"' 'says "clockid: monotonic"' 'says "time of last sample : [1-9]"'
run perf script -i "$file" -F event,tod
check_perf "the time of day" done_ "says \"^ *\\($day\\|$(date +%F)\\) [0-9:.]* *sched:\""
run perf buildid-list -i "$file"
check_perf "build ids" done_ 'says "^[0-9a-f]\{40\} \[kernel.kallsyms\]$"' 'says "^[0-9a-f]\{40\} .*/busybox"'
run perf sched -i "$file" latency
check_perf "perf sched latency" done_ 'says "Task .*Runtime"' 'says TOTAL'

# What perf's own event says of what happens meanwhile. The tracer's code is a symbol.
record -e sched:sched_process_exec -- sh -c 'ls / >/dev/null; ktbctl attach function:vfs_read -s other >/dev/null
	ktbctl detach -s other >/dev/null'
run perf script -i "$file" --show-task-events --show-mmap-events --show-bpf-events
check_perf "side-band: threads, programs, kernel code" done_ 'says "PERF_RECORD_FORK("' 'says "PERF_RECORD_EXIT("' \
	'says "PERF_RECORD_COMM exec: ktbctl:"' 'says "PERF_RECORD_MMAP2 .* r-xp .*/busybox"' \
	'says "PERF_RECORD_KSYMBOL addr ffff.* name ftrace_trampoline"'

head -c $(($(wc -c <"$file") / 2)) "$file" >half.data
run perf script -i half.data
# 255 is what perf says itself, above 128 is else a signal's.
check_perf "a truncated file is told, and nothing worse" '[ $status -eq 255 ] || [ $status -lt 128 ]' \
	'complains "incompatible file format"'
run ktbctl report -i half.data
check "by us too" failed 'complains "half.data.* is cut off"'

# ---- how a recording ends ----

record -e sched:sched_switch -- sh -c 'exit 3'
check "the command's exit status is passed on" '[ $status -eq 3 ]' 'closing >/dev/null' '[ -e perf.data.old ]'
record -e sched:sched_switch -- sh -c 'usleep 10000; kill -9 $$'
check "a killed command" '[ $status -eq 137 ]' 'complains "killed by signal 9"' '[ "$(counter samples)" -gt 0 ]'

ktbctl record --json -e raw_syscalls:sys_enter -o "$file" >"$out" 2>"$err" &
recorder=$!
ran='record until ^C'
wait_for 'ktbctl status | grep -q "reader: process $recorder"'
wait_for '! ktbctl status | grep -q disabled'	# it begins when all is ready
cat /proc/version >/dev/null	# its own calls are left out
kill -INT "$recorder"
wait "$recorder"
status=$? recorder=
cp "$err" "$dir/closing"
check "^C" done_ ledger_is_exact '[ "$(counter samples)" -gt 0 ]' nothing_left
script
check_perf "perf reads it" done_ as_many_as_written

ktbctl record -e raw_syscalls:sys_enter -o "$file" >/dev/null 2>&1 &
recorder=$!
wait_for 'ktbctl status | grep -q "reader: process $recorder"'
wait_for '! ktbctl status | grep -q disabled'
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
recorder=
run ktbctl report -i "$file"
check "a recorder that was killed" failed 'complains "was not finished"' nothing_left

mkdir small
mount -t tmpfs -o size=256k small small
file=$dir/small/perf.data
record -e raw_syscalls:sys_enter -m 4M -- dd if=/dev/zero of=/dev/null bs=1 count=20000
check "a full disk" failed 'complains "No space left on device"' 'complains "can be read"' \
	'[ "$(counter missing)" -gt 0 ]' nothing_left
check "its ledger: all that was written is in the file or said to be missing" ledger_is_exact \
	'[ "$(counter written)" -eq $(($(counter samples) + $(counter missing))) ]'
script
check_perf "perf reads it" done_ as_many_as_written '[ "$(counter samples)" -gt 0 ]'
umount small
mount -t tmpfs -o size=8k small small
record -e raw_syscalls:sys_enter true
check "no room for a beginning" failed 'complains "No space left on device"' nothing_left '[ ! -e "$file" ]'
umount small
file=$dir/perf.data

# ---- a session that is there ----

ktbctl attach sched:sched_switch raw_syscalls:sys_exit -s mine >/dev/null
usleep 20000
ktbctl detach raw_syscalls:sys_exit -s mine >/dev/null
record -s mine -- usleep 100000
check "an attached session" done_ '[ "$(counter samples)" -gt 0 ]' 'ktbctl status | grep -q sched:sched_switch'
script
check_perf "perf reads it, records of a detached event too" done_ as_many_as_written \
	'says sched:sched_switch' 'says "detached:"'
ktbctl record -s mine -o "$dir/first.data" -- sleep 20 >/dev/null 2>&1 &
recorder=$!
wait_for 'ktbctl status -s mine | grep -q "reader: process $recorder"'
run ktbctl record -s mine -o second.data true
check "a second reader" failed "complains $recorder" '[ ! -e second.data ]'
kill "$recorder"
wait "$recorder" 2>/dev/null
recorder=
ktbctl detach -s mine >/dev/null

# A probe that goes when its event is detached, and tracefs's word on it.
begin_gone() {
	ktbctl probe -a 'gone do_sys_openat2' --temporary >/dev/null
	ktbctl attach ktb:gone raw_syscalls:sys_exit -s mine >/dev/null
	ktbctl record --json -s mine -o gone.data "$@" >/dev/null 2>"$err" &
	recorder=$!
	wait_for 'ktbctl status -s mine | grep -q "reader: process $recorder"'
	cat /proc/version >/dev/null
	usleep 300000
	ktbctl detach ktb:gone -s mine >/dev/null
	wait_for '! ktbctl probe -l | grep -q ktb:gone'
}
end_gone() {
	kill -INT "$recorder"
	wait "$recorder"
	status=$? recorder=
	cp "$err" "$dir/closing"
	ktbctl detach -s mine >/dev/null
}
begin_gone --switch-output
kill -USR2 "$recorder"
wait_for '[ -e "$(echo gone.data.2*)" ] && [ -s gone.data ]'
usleep 300000
end_gone
check "another file, and an event and its probe are gone" done_ '[ "$(ls gone.data.2* | wc -l)" -eq 2 ]'
begin_gone
ktbctl attach sched:sched_switch -s mine >/dev/null
usleep 300000
end_gone
check "an event that comes when another one and its probe are gone" done_
run perf script -i gone.data
check_perf "perf reads it, both and all their fields" done_ as_many_as_written 'says " ktb:gone: (ffff.*)"' \
	'says " sched:sched_switch: prev_comm="'

record -e raw_syscalls:sys_enter -C 0 -- sh -c "$workload"
script
check_perf "one CPU only" done_ as_many_as_written ledger_is_exact '[ "$(counter samples)" -gt 0 ]' \
	'! grep -v -q "\[000\]" "$out"'

end_tests
