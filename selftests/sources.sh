#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Every kind of source in one session: one order of time, one ledger, in a file and read
# as it comes. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2154 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/sources.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
target=$here/probe_target

finish() {
	cd /
	ktbctl detach >/dev/null 2>&1
	ktbctl probe -d '*' >/dev/null 2>&1
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 12

# a tracepoint of our own probe, one through perf, dynamic probes of the kernel and of a
# program, a counter, a timer, a breakpoint, a call and a return
events='raw_syscalls:sys_enter syscalls:sys_enter_openat ktb:open ktb:opened ktb:target
	page-faults/period=1/ cpu-clock/freq=499/ mem:jiffies/8:w function:get_unused_fd_flags fgraph:get_unused_fd_flags'
set --
for event in $events; do set -- "$@" -e "$event"; done
work='for i in 1 2 3 4 5 6 7 8 9; do : <"$0"; "$0" 20; done'

each_event() { # condition, with $event
	for event in $events; do eval "$1" || { echo "# $event"; return 1; }; done
}
samples_of() { grep -c -F "\"event\":\"$1\"" lines; } # event

# Each open of one thread, from lines of JSON: the system call, the tracepoint and the
# probe behind it, the function's call and return, and the other end of the probe.
opens_in_order() {
	awk -F'"' -v tid="$1" '
		{ for (i = 2; i < NF; i++) {
			if ($i == "tid") { split($(i + 1), t, /[:,]/); now = t[2] }
			if ($i == "event") event = $(i + 2)
		} }
		now != tid || event !~ /openat|^ktb:open|get_unused_fd_flags/ { next }
		event ~ /sys_enter_openat/ { order = "" }
		{ order = order event " " }
		event == "ktb:opened" {
			if (order != want) { print "# " order; bad++ }
			nr++; order = ""
		}
		END { exit bad || nr < 9 }' \
		want='syscalls:sys_enter_openat ktb:open function:get_unused_fd_flags fgraph:get_unused_fd_flags ktb:opened ' lines
}
in_time() { sed 's/.*"time":\([0-9]*\).*/\1/' lines | awk '$1 < last { bad++ } { last = $1 } END { exit !NR || bad }'; }
# Those that come behind a younger one.
late() { sed 's/.*"time":\([0-9]*\).*/\1/' lines | awk '$1 < last { late++; next } { last = $1 } END { print late + 0 }'; }
shell_of() { grep -F '"event":"ktb:open"' lines | grep -F probe_target | sed -n 's/.*"tid":\([0-9]*\).*/\1/p' | head -n 1; }

run ktbctl probe -a 'open do_sys_openat2 name=+0(%si):ustring' -a 'opened do_sys_openat2%return fd=$retval:s32' -a "target $target:probe_target n=%di:s32"
check "probes" done_

# ---- into a file ----

record -m 8M "$@" -a -- sh -c "$work" "$target"
check "all in one session" done_ ledger_is_exact '[ "$(counter lost_full)" -eq 0 ]'
run ktbctl script --json -i "$file"
grep '"type":"sample"' "$out" >lines
check "each has records" done_ 'each_event "[ \$(samples_of \"\$event\") -gt 5 ]"'
check "as many as the ledger says" '[ "$(wc -l <lines)" -eq "$(counter samples)" ]' '[ "$(samples_of ktb:target)" -eq 180 ]'
check "in the order of time" in_time
check "which is that of what happened" 'opens_in_order "$(shell_of)"'
run perf script -i "$file"
check_perf "and so perf has it" done_ '[ "$(grep -c "ktb:target:" "$out")" -eq 180 ]' \
	'[ "$(grep -c " \(cpu-clock/freq=499/\|page-faults/period=1/\|mem:jiffies/8:w\):" "$out")" -gt 15 ]'

# ---- as it comes ----

# shellcheck disable=SC2086 # events, each a word
run ktbctl attach -m 8M $events
check "attached" done_
sh -c "$work" "$target" >/dev/null
run ktbctl read -t 1 --json
grep '"type":"sample"' "$out" >lines
check "read: each has records" done_ 'each_event "[ \$(samples_of \"\$event\") -gt 5 ]"' '[ "$(samples_of ktb:target)" -eq 180 ]'
check "in the order of time, but for what is told to be late" 'grep -q "\"lost\":0,.*\"late\":$(late)[,}]" "$err"' 'opens_in_order "$(shell_of)"'
run ktbctl status --json
tr -d ' \n\t' <"$out" | grep -o '"ledger":{[^}]*' | tr ',{' '  ' >ledgers
check "one ledger: each event's hits are accounted for" '[ "$(wc -l <ledgers)" -eq 10 ]' \
	'awk "{ split(\"\", n); for (i = 2; i <= NF; i++) { split(\$i, f, /[\":]+/); n[f[2]] = f[3] }
		bad += n[\"hits\"] != n[\"written\"] + n[\"filtered\"] + n[\"not_sampled\"] + n[\"lost_full\"] + n[\"lost_big\"] + n[\"lost_recursion\"] } END { exit bad }" ledgers'
ktbctl detach >/dev/null
ktbctl probe -d '*' >/dev/null
check "nothing is left behind" nothing_left
end_tests
