#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl stat, and attach and record of counters: numbers that are known, what perf
# makes of the file, and what is said when something is wrong. Runs in the guest's
# busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2154 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/stat.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

trap 'cd /; rm -rf "$dir"' EXIT
begin_tests 48

# From JSON: the count of an event.
count_of() { # event
	tr -d ' \n\t' <"$out" | sed "s/.*\"name\":\"$1\",\"count\":\([0-9]*\).*/\1/"
}
# Whether what runs in the background counts already.
is_counting() { ktbctl status -s "stat-$counting" >"$dir/session" 2>/dev/null && ! grep -q disabled "$dir/session"; }
# Whether it has come to print, and waits.
is_waiting() { grep -q poll "/proc/$counting/wchan" && sleep 1; }
burn='i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done'

# ---- counting ----

run ktbctl stat -e page-faults,task-clock,raw_syscalls:sys_enter,sched:sched_process_exec -- true
check "counters and tracepoints of a command" done_ quiet 'says page-faults' 'says "ms  task-clock"' 'says sys_enter' 'says seconds'
run ktbctl stat --json -e page-faults,task-clock,raw_syscalls:sys_enter,sched:sched_process_exec -- true
check "as JSON" done_ is_json '[ "$(count_of page-faults)" -gt 10 ]' '[ "$(count_of task-clock)" -gt 1000 ]' \
	'[ "$(count_of raw_syscalls:sys_enter)" -gt 5 ]' '[ "$(count_of sched:sched_process_exec)" -eq 1 ]'
run ktbctl stat --json -e faults -e raw_syscalls:sys_enter -- dd if=/dev/zero of=/dev/null bs=1 count=5000
many=$(count_of raw_syscalls:sys_enter)
run ktbctl stat --json -e faults -e raw_syscalls:sys_enter -- dd if=/dev/zero of=/dev/null bs=1 count=4000
check "1,000 reads and writes more are 2,000 calls more" done_ '[ $((many - $(count_of raw_syscalls:sys_enter))) -eq 2000 ]'
run ktbctl stat --json -e sched:sched_process_fork -- sh -c '(true) & (true) & (true) & wait'
check "with what a command starts" done_ '[ "$(count_of sched:sched_process_fork)" -eq 3 ]'
run ktbctl stat --json --no-inherit -e task-clock -e raw_syscalls:sys_enter -- sh -c "(dd if=/dev/zero of=/dev/null bs=1 count=9000); exit 0"
check "or without" done_ '[ "$(count_of raw_syscalls:sys_enter)" -gt 5 ]' '[ "$(count_of raw_syscalls:sys_enter)" -lt 9000 ]'
run ktbctl stat --json -a -e cpu-clock -e sched:sched_switch -- sleep 0.3
check "of the system" done_ '[ "$(count_of cpu-clock)" -ge $((300000000 * $(nproc))) ]' '[ "$(count_of sched:sched_switch)" -gt 2 ]'
run ktbctl stat --json -C 0 -e cpu-clock,sched:sched_switch -- sleep 0.3
check "of one CPU" done_ '[ "$(count_of cpu-clock)" -ge 300000000 ]' '[ "$(count_of sched:sched_switch)" -gt 0 ]'
run ktbctl stat -a -I 100 -e cpu-clock,sched:sched_switch -- sleep 0.55
check "in intervals" done_ '[ "$(grep -c cpu-clock "$out")" -ge 4 ]' '! says seconds'
run ktbctl stat -a -I 100 --json -e cpu-clock -- sleep 0.35
check "in intervals, as JSON" done_ '[ "$(wc -l <"$out")" -ge 3 ]' 'while read -r line; do echo "$line" | "$here/json_check" >/dev/null || exit; done <"$out"'
run sh -c 'ktbctl stat -a -I 50 -e cpu-clock 2>&1 | head -n 1'
check "until nobody reads" done_ '[ "$(wc -l <"$out")" -eq 1 ]'
run sh -c '(ktbctl stat -a -I 50 -e cpu-clock -- sh -c "sleep 0.3; exit 7"; echo $? >last) | true'
check "or until the command ends" done_ '[ "$(cat last)" -eq 7 ]'
# A pipe that is full from the beginning, and that somebody holds open.
fill='exec >pipe; dd if=/dev/zero bs=65536 count=1 2>/dev/null; exec ktbctl stat -a -I 10 -e cpu-clock'
mkfifo pipe
sh -c 'exec sleep 60' <pipe &
reader=$!
run sh -c "$fill -- sh -c 'sleep 1; exit 7'"
check "nobody reads what is printed, and the command ends" '[ $status -eq 7 ]' 'complains "takes no more"'
kill $reader
wait $reader 2>/dev/null
sh -c 'exec sleep 60' <pipe &
reader=$!
sh -c "$fill" 2>"$err" &
counting=$!
wait_for is_waiting
kill -TERM $counting
wait $counting
status=$?
check "or a signal comes" done_ 'complains "takes no more"'
kill $reader
wait $reader 2>/dev/null
ktbctl stat -a -I 10 -e sched:sched_switch >"$out" 2>"$err" &
counting=$!
wait_for is_counting
kill -STOP $counting
sleep 2
kill -CONT $counting
usleep 300000
kill -TERM $counting
wait $counting
status=$?
check "intervals that were missed are not made up for" done_ "awk '{ last = \$1 } END { exit NR > (last - 1.5) * 100 }' \$out"
run ktbctl stat -e faults -- sh -c 'exit 7'
check "the command's exit status" '[ $status -eq 7 ]' 'says faults'
run ktbctl stat -e faults sh -c 'echo "$0 $*"' --json -h --help
check "options of the command are its own, without -- too" done_ 'says "^--json -h --help$"' 'says "  faults"'
sleep 60 &
sleeper=$!
ktbctl stat --json -p $sleeper -e faults,raw_syscalls:sys_exit >"$out" 2>"$err" &
counting=$!
wait_for is_counting
kill $sleeper
wait $sleeper 2>/dev/null
kill -INT $counting
wait $counting
status=$?
check "of a process, until ^C" done_ is_json '[ "$(count_of raw_syscalls:sys_exit)" -gt 0 ]'
check "nothing is left" nothing_left
sh -c 'sleep 60 & sleep 2' &
run ktbctl stat --json -p $! -e faults,raw_syscalls:sys_exit
check "until the process ends, whatever it leaves behind" done_ is_json '[ "$(count_of raw_syscalls:sys_exit)" -gt 0 ]'
ktbctl stat --json -I 100 -a -e sched:sched_switch >"$out" 2>"$err" &
counting=$!
wait_for is_counting
usleep 200000
ktbctl detach -s stat-$counting >/dev/null
wait $counting
status=$?
check "a session that somebody removes" failed 'complains "were detached"' 'tail -n 1 "$out" | grep -q "\"count\":null"'
mkfifo "$dir/go"
ktbctl stat -a -e sched:sched_switch,sched:sched_waking -- cat "$dir/go" >"$out" 2>"$err" &
counting=$!
wait_for is_counting
ktbctl detach -s stat-$counting sched:sched_waking >/dev/null
: >"$dir/go"
wait $counting
status=$?
check "an event that somebody detaches" failed 'complains "were detached"' 'says "not known  sched:sched_waking"' \
	'says "[0-9]  sched:sched_switch"'
run ktbctl stat -e 'sched:*,!sched:sched_stat_*' -a -- true
check "patterns and exclusions" done_ 'says sched_switch' '! says sched_stat_runtime'

# ---- refusals ----

run ktbctl stat -- true
check "no event" usage
run ktbctl stat -e nonsense -- true
check "no such event" failed "complains \"no event 'nonsense'\""
run ktbctl stat -e faults --hist -xv -- true
check "no such option, among letters" usage 'complains "no option -x"'
run ktbctl stat -e faults -I 5 -- true
check "too short an interval" usage 'complains "10 milliseconds"'
run ktbctl stat -e faults -p 1 -- true
check "a process and a command" usage
run ktbctl stat -e faults -p 4194000
check "no such process" failed 'complains "no such process"'
run ktbctl stat -e faults -- /no/such/command
check "no such command" failed 'complains "no/such/command"' nothing_left
run ktbctl attach cpu-clock:x
check "no such modifier" failed "complains \"no modifier 'x'\"" nothing_left
run ktbctl attach gpu/event=1/
check "no such PMU" failed "complains \"no PMU 'gpu'\"" nothing_left
run ktbctl attach mem:no_such_symbol:w
check "no such symbol" failed "complains \"no symbol 'no_such_symbol'\"" nothing_left
run ktbctl record -e cpu-clock -F 99 -c 1000 -- true
check "a period and a frequency" usage 'complains "either -c"'
run ktbctl record -e sched:sched_switch -F 99 -- true
check "a frequency, and no counter" failed 'complains "-c N"' nothing_left
if [ -d /sys/bus/event_source/devices/cpu ]; then
	skip "no hardware PMU" "there is one"
	skip "nor to count with" "there is one"
else
	run ktbctl record -e cycles -- true
	check "no hardware PMU" failed 'complains "take cpu-clock"' nothing_left
	run ktbctl stat -e cycles -- true
	check "nor to count with" failed 'complains "take task-clock"' nothing_left
fi

# ---- recording ----

# So long by the clock of the machine, however slow that is: perf takes its time.
record -e cpu-clock -F 499 -g -a -- sleep 0.3
check "a clock, with callchains" done_ '[ "$(counter samples)" -gt 20 ]' ledger_is_exact
run perf evlist -v -i "$file"
check_perf "perf knows what it is" done_ 'says "cpu-clock:.*type: 1.*freq.*499"' 'says CALLCHAIN'
script
check_perf "and prints it" done_ '[ "$(grep -c "2004008 cpu-clock:" "$out")" -eq "$(counter samples)" ]' '[ "$(grep -c "^	 *[0-9a-f]" "$out")" -gt "$(counter samples)" ]'
run perf report -i "$file" --stdio -g none
check_perf "and reports it" done_ 'says "of event .cpu-clock"' 'says "%.*swapper"'
record -e page-faults/period=1/ -e sched:sched_switch -e mem:jiffies/8:w -- sh -c "$burn"
check "faults, switches and a breakpoint in one file" done_ '[ "$(counter samples)" -gt 20 ]' ledger_is_exact
script
check_perf "all three are there" done_ 'says page-faults/period=1/:' 'says sched:sched_switch:' 'says mem:jiffies/8:w:'
sleep 2 &
first=$!
sleep 4 &
last=$!
record -p $first,$last -e raw_syscalls:sys_exit
check "until the last of the processes ends" done_ '[ ! -e /proc/$last ] || grep -q zombie /proc/$last/status' ledger_is_exact
sleep 2 &
record -t $! -e raw_syscalls:sys_exit
check "or the thread" done_ ledger_is_exact
run ktbctl attach -s counters cpu-clock/freq=50/u context-switches -c 2
check "attached like any other" done_ 'says "cpu-clock/freq=50/u (perf)"'
record -s counters -- sh -c "$burn"
check "and recorded by who did not attach them" done_
run perf evlist -v -i "$file"
check_perf "with their own attributes" done_ 'says "cpu-clock/freq=50/u:.*exclude_kernel: 1"' 'says "context-switches:.*config: 0x3"'
ktbctl detach -s counters >/dev/null
check "nothing is left behind" nothing_left
end_tests
