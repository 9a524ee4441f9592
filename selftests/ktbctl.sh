#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl as its users call it: what it prints, its exit statuses, what it says
# when something is wrong, and that nothing is left behind then. Runs in the
# guest's busybox sh.
#
# shellcheck disable=SC2016 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/ktbctl.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

reader=
finish() {
	[ -z "$reader" ] || kill "$reader" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# From a session's last ledger, as JSON: the value of a counter.
counter() {
	tr -d ' \n' <"$out" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

begin_tests 47
ktbctl detach >/dev/null 2>&1

# ---- without arguments, with wrong ones ----

run ktbctl
check "no command" usage 'complains usage'
run ktbctl --help
check "--help" done_ 'says attach' 'says detach' 'says status' 'says read' 'says list' quiet
run ktbctl attac sched:sched_switch
check "unknown command" usage "complains attach"
run ktbctl attach
check "attach without event" usage 'complains event'
run ktbctl attach --no-such-option sched:sched_switch
check "unknown option" usage 'complains no-such-option' nothing_left
run ktbctl attach sched:sched_switch -m 0
check "-m 0" usage 'complains "-m 0"' nothing_left
run ktbctl attach sched:sched_switch -m x
check "-m x" usage 'complains "-m x"' nothing_left
run ktbctl attach sched:sched_switch -m 99999999999999999999
check "-m too large for a number" usage 'complains "too large"' nothing_left
run ktbctl attach sched:sched_switch -m 1T
check "-m of an unknown unit" usage 'complains "K, M or G"' nothing_left
run ktbctl attach sched:sched_switch -m 2G
check "-m over the limit" failed 'complains "1 GiB"' nothing_left
run ktbctl attach sched:sched_switch -s "$(printf '%032d' 0)"
check "session name too long" '[ $status -ne 0 ]' 'complains .' nothing_left
run ktbctl read -n x
check "read -n x" usage 'complains "not a number"'
run ktbctl read -t x
check "read -t x" usage 'complains "number of seconds"'

# ---- list ----

run ktbctl list 'sched:sched_switch'
check "list" done_ 'says "sched:sched_switch .*native"' quiet
run ktbctl list 'raw_syscalls:*'
check "list with a pattern" done_ 'says raw_syscalls:sys_enter' 'says raw_syscalls:sys_exit' '! says sched:'
run ktbctl list --json
check "list --json" done_ is_json 'says "\"sched:sched_switch\""'
run ktbctl list 'no_such:*'
check "list of nothing" failed 'complains no_such'

# ---- the main path ----

run ktbctl attach sched:sched_switch
check "attach" done_ 'says "attached sched:sched_switch (native)"' quiet
run ktbctl status
check "status" done_ 'says "session default"' 'says persistent' 'says sched:sched_switch' quiet
run ktbctl status --json
check "status --json" done_ is_json 'says "\"default\""' 'says "\"sched:sched_switch\""'
run sh -c 'ktbctl status >&-'
check "what is printed goes to no socket of ours" failed 'complains "cannot write the output"'
run ktbctl attach sched:sched_switch
check "attach again" failed 'complains "attached .*already"'
usleep 1000; usleep 1000; usleep 1000
run ktbctl read -n 5
check "read" done_ 'says sched_switch' 'says prev_comm=' 'says next_pid=' \
	'[ $(grep -c sched_switch "$out") -eq 5 ]'
run ktbctl read -n 5 --json
check "read --json" done_ is_json '[ $(wc -l <"$out") -eq 5 ]' 'says "\"prev_comm\""'
run ktbctl read -t 0.2
check "read -t" done_
run ktbctl attach no_such:event sched:sched_wakeup
check "attach of an unknown event beside a known one" failed 'complains no_such:event' \
	'! ktbctl status | grep -q sched_wakeup'
run ktbctl attach sched:sched_wakeup sched:sched_switch
check "attach that fails half-way leaves nothing of it" failed 'complains already' \
	'! ktbctl status | grep -q sched_wakeup' 'ktbctl status | grep -q sched:sched_switch'
run ktbctl attach sched:sched_switch -m 64K
check "attach of another size to a session" failed 'complains "[-]m"'
run ktbctl detach sched:sched_switch --json
check "detach of an event, its ledger exact" done_ is_json \
	'[ "$(counter hits)" -gt 0 ]' \
	'[ "$(counter hits)" -eq $(($(counter written) + $(counter filtered) + $(counter not_sampled) +
		$(counter lost_full) + $(counter lost_big) + $(counter lost_recursion))) ]'
run ktbctl detach sched:sched_switch
check "detach of what is not attached" failed 'complains sched:sched_switch'
run ktbctl detach
check "detach of all" done_ nothing_left
run ktbctl detach
check "detach without a session" failed 'complains default'
run ktbctl read
check "read without a session" failed 'complains "no session .default."'

# ---- what is wrong is said, and leaves nothing ----

run ktbctl attach sched:sched_swich
check "unknown event: names near it" failed 'complains sched:sched_switch' nothing_left
run ktbctl attach sched:sched_switch no_such:event -s made
check "attach that fails leaves no session" failed 'complains no_such:event' nothing_left
run su nobody -s /bin/sh -c 'ktbctl attach sched:sched_switch'
check "attach as nobody" failed 'complains CAP_PERFMON' nothing_left
run su nobody -s /bin/sh -c 'ktbctl status'
check "status as nobody" failed 'complains CAP_PERFMON'

ktbctl attach sched:sched_switch -s busy >/dev/null
ktbctl read -s busy >"$dir/reader" 2>&1 &
reader=$!
wait_for 'ktbctl status -s busy | grep -q "reader: process $reader"'
run ktbctl read -s busy -n 1
check "second reader: told who reads" failed "complains $reader" 'complains busy'
run rmmod ktrace_bridge
check "rmmod while read" '[ $status -ne 0 ]' '[ -d /sys/module/ktrace_bridge ]' \
	'ktbctl status | grep -q "reader: process $reader"'
kill -9 "$reader"
wait "$reader" 2>/dev/null
reader=
run ktbctl read -s busy -n 1
check "after a killed reader, another reads" done_ 'says sched_switch'
ktbctl detach -s busy >/dev/null

# ---- who reads what is printed ----

mkfifo "$dir/pipe"
sh -c 'exec sleep 600' <"$dir/pipe" &
sleeper=$!
ran="ktbctl read -s slow >pipe"
ktbctl attach -s slow raw_syscalls:sys_enter >/dev/null
ktbctl read -s slow >"$dir/pipe" 2>"$err" &
reader=$!
wait_for 'ktbctl status -s slow | grep -q "reader: process $reader"'
dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
usleep 300000
kill "$reader"
check "a signal ends it, though nobody takes what it prints" 'wait_for "complains \"records read\""' 'complains "takes no more"'
kill "$sleeper"
kill -9 "$reader" 2>/dev/null
wait "$reader" 2>/dev/null
reader=
ktbctl detach -s slow >/dev/null
ktbctl attach -s quiet sched:sched_process_exit >/dev/null
ktbctl disable -s quiet >/dev/null
run timeout 60 "$here/on_socket" ktbctl read -s quiet
check "and so does the end of who reads a socket" done_
run ktbctl attach -s quiet sched:sched_process_fork
check "attach to a disabled session: told" done_ 'complains "ktbctl enable -s quiet"'
ktbctl detach -s quiet >/dev/null
ktbctl attach -s many 'sched:*' 'writeback:*' 'timer:*' 'irq:*' 'kmem:*' >/dev/null
sh -c 'exec sleep 600' <"$dir/pipe" &
sleeper=$!
{
	dd if=/dev/zero bs=64k count=1 2>/dev/null
	exec ktbctl detach -s many
} >"$dir/pipe" &
reader=$!
check "a session goes before its ledgers are told" 'wait_for "! ktbctl status | grep -q \"session many\""'
kill "$reader" "$sleeper"
wait "$reader" 2>/dev/null
reader=

# ---- without the module ----

run rmmod ktrace_bridge
check "rmmod" done_
run ktbctl attach sched:sched_switch
check "attach without the module" failed 'complains "load ktrace_bridge first"'
run ktbctl status
check "status without the module" failed 'complains "load ktrace_bridge first"'
insmod "$module"

end_tests
