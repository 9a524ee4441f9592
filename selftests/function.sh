#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl with calls of kernel functions: how they are named, what is printed of them,
# what is refused. That the records are right, function.c tests. Runs in the guest's
# busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2086,SC2154 # conditions are evaluated by check; $work is words

dir=$(mktemp -d /tmp/function.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

trap 'cd /; ktbctl detach >/dev/null 2>&1; rm -rf "$dir"' EXIT
begin_tests 24

work='dd if=/dev/zero of=/dev/null bs=1 count=50'

run ktbctl attach 'function:vfs_read' 'fgraph:ksys_read vfs_rea[d]'
check "entries and returns" done_ 'says "attached function:vfs_read (function)"' 'says "attached fgraph:ksys_read vfs_rea.d. (function)"'
$work 2>/dev/null &
pid=$!
wait $pid
run ktbctl read -t 1
check "an entry has the function and its caller" '[ "$(grep -c -e "-$pid .*function:vfs_read: .*vfs_read.*<--" "$out")" -ge 50 ]'
check "a return its depth and duration" '[ "$(grep -c -e "-$pid .*fgraph:.*[0-9]\.[0-9][0-9][0-9] us |   vfs_read();" "$out")" -ge 50 ]'
check "inside of what calls it" '[ "$(grep -c -e "-$pid .*fgraph:.*:              | ksys_read() {" "$out")" -ge 50 ]' \
	'[ "$(grep -c -e "-$pid .*fgraph:.*[0-9] us | } /\* ksys_read \*/" "$out")" -ge 50 ]'
ktbctl detach >/dev/null
run ktbctl stat --json -e 'function:vfs_read' -e 'fgraph:vfs_read' -- $work
check "they are counted" done_ '[ "$(tr -d " \n\t" <"$out" | grep -o "\"count\":5[0-9]" | wc -l)" -eq 2 ]'
run ktbctl stat --hist -e 'fgraph:vfs_read' -- $work
check "how long they take" done_ 'says "5[0-9]  fgraph:vfs_read"' 'says "[0-9] to [0-9]* ns, [0-9]* on average"' \
	'[ "$(sed -n "s/^\[.*) *\([0-9]*\) |@* *|$/\1/p" "$out" | awk "{ n += \$1 } END { print n }")" -ge 50 ]'
run ktbctl stat --hist --json -e 'fgraph:vfs_read' -e 'fgraph:ksys_read' -e 'sched:sched_process_exec' -- $work
check "as JSON: all are in a bucket, the sum is theirs" done_ is_json '[ "$(grep -c "\"latency\"" "$out")" -eq 2 ]' \
	'tr -d " \n\t" <"$out" | grep -q "\"name\":\"fgraph:vfs_read\",\"count\":\(5[0-9]\),\"latency\":{\"unit\":\"ns\",\"count\":\1,.*\"lost\":0"' \
	'says "sched:sched_process_exec"'
run ktbctl stat --hist -a -I 100 -e 'fgraph:vfs_read' -- sh -c 'for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=1 count=50 2>/dev/null; usleep 100000; done'
check "in intervals" done_ '[ "$(grep -c "  fgraph:vfs_read" "$out")" -ge 4 ]' '[ "$(grep -c "on average" "$out")" -ge 2 ]'
ktbctl stat --hist -a -e fgraph:vfs_read >"$out" 2>"$err" &
counting=$!
wait_for 'ktbctl status -s stat-$counting >session 2>/dev/null && ! grep -q disabled session'
ktbctl detach -s stat-$counting >/dev/null
wait $counting
status=$?
check "until somebody removes the session" failed 'says "not known  fgraph:vfs_read"' 'complains "were detached"'
run ktbctl stat --hist -e function:vfs_read -- true
check "calls have no duration" failed 'complains "returns of functions"' nothing_left
run ktbctl stat --json -e 'function:vfs_rea[d] vfs_write !vfs_read' -e 'function:vfs_write' -- $work
check "patterns, and exclusions" done_ '[ "$(tr -d " \n\t" <"$out" | grep -o "\"count\":5[0-9]" | wc -l)" -eq 2 ]'
record -e 'function:vfs_read' -e 'fgraph:vfs_read' -- $work
check "recorded" done_ '[ "$(counter samples)" -ge 100 ]' ledger_is_exact
script
check_perf "and printed by perf" done_ as_many_as_written
record -g -e 'function:vfs_read' -e 'fgraph:vfs_read' -- $work
check "with callchains" done_ ledger_is_exact
run perf script -i "$file"
check_perf "of the caller" done_ '[ "$(grep -c "ksys_read" "$out")" -ge 100 ]'
run ktbctl attach 'fgraph:vfs_*:mod:no_such_module'
check "no function of such a module" failed 'complains "no such function"' nothing_left
run ktbctl attach 'function:no_such_function'
check "no such function" failed 'complains "no function .no_such_function. can be traced"' nothing_left
run ktbctl attach 'fgraph:vfs_read vfs_raed'
check "nor of that" failed 'complains "no function .vfs_raed. can be traced"' nothing_left
run ktbctl attach 'fgraph:*'
check "too many returns" failed 'complains 1024' nothing_left
run ktbctl attach 'fgraph:do_exit'
check "no return ever" failed 'complains "do_exit never returns"' nothing_left
run ktbctl attach 'fgraph:do_e*'
check "patterns pass over those" done_
ktbctl detach >/dev/null
ktbctl attach 'function:vfs_[rw]*' sched:sched_process_exit >/dev/null
run ktbctl detach 'function:vfs_[rw]*'
check "a pattern is detached by its own name" done_ 'says "function:vfs_"'
ktbctl detach >/dev/null
run ktbctl attach 'function:!vfs_read'
check "nothing but exclusions" failed 'complains "which functions"' nothing_left
check "nothing is left behind" nothing_left
end_tests
