#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl with patterns, limits and targets: what it attaches, skips and refuses, and
# what it says then. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/attach_many.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
tracing=/sys/kernel/tracing
child=''

finish() {
	[ -z "$child" ] || kill "$child" 2>/dev/null
	[ ! -e /sys/devices/system/cpu/cpu1/online ] || echo 1 >/sys/devices/system/cpu/cpu1/online
	rm -rf "$dir"
}
trap finish EXIT


# The number of events of a session.
events() {
	ktbctl status -s "$1" --json | grep -c '"ledger"'
}

id_of() {
	cat "$tracing/events/$(echo "$1" | tr : /)/id"
}

begin_tests 65
ktbctl detach >/dev/null 2>&1

# ---- list ----

run ktbctl list
cut -d ' ' -f 1 "$out" >"$dir/listed"
check "list has every event that tracefs has, once" done_ quiet \
	'[ "$(sort "$dir/listed" $tracing/available_events | uniq -d | wc -l)" -eq "$(wc -l <$tracing/available_events)" ]' \
	'[ -z "$(sort "$dir/listed" | uniq -d)" ]'
check "a native one" 'says "^sched:sched_switch  *$(id_of sched:sched_switch)  native$"'
check "one of the perf core" \
	'says "^syscalls:sys_enter_getppid  *$(id_of syscalls:sys_enter_getppid)  perf$"'
check "one that cannot be attached" 'says "^ftrace:function .* none$"'
run ktbctl list 'sched:*' --json
check "as JSON" done_ is_json '[ $(grep -c "\"path\"" "$out") -eq $(ls -d $tracing/events/sched/*/ | wc -l) ]'

# ---- patterns ----

run ktbctl attach 'sched:*'
check "attach 'sched:*'" done_ 'says "attached $(ls -d $tracing/events/sched/*/ | wc -l) events"' \
	'[ "$(events default)" -eq "$(ls -d $tracing/events/sched/*/ | wc -l)" ]'
run ktbctl attach 'sched:sched_wa*' 'irq:*' --json
check "what is attached already is skipped" done_ is_json 'says "attached already"' \
	'says "irq:softirq_entry"'
run ktbctl attach 'sched:*'
check "if that is all, it fails" failed 'complains "attached already (.*, \.\.\.; -v names all)"'
run ktbctl detach 'sched:sched_stat_*'
check "detach by a pattern" done_ 'says sched:sched_stat_runtime' '! says sched:sched_switch' \
	'! ktbctl status | grep -q sched_stat_' 'ktbctl status | grep -q sched:sched_switch'
run ktbctl detach 'no_such:*'
check "detach of what is not there" failed 'complains "no event .no_such:"'
ktbctl detach >/dev/null

run ktbctl attach 'sched:*' '!sched:sched_stat_*' '!sched:sched_switch' -v
check "'!' excludes" done_ 'says "attached sched:sched_wakeup (native)"' '! says sched_stat_' \
	'! says sched_switch'
ktbctl detach >/dev/null
run ktbctl attach 'sched:*' '!*:*'
check "'!' of everything" failed 'complains "all are excluded"' nothing_left
run ktbctl attach 'sched:*' '!irq:*'
check "'!' of what is not asked for" failed 'complains "excludes nothing"' nothing_left
run ktbctl attach '!sched:*'
check "'!' alone" failed 'complains "!"' nothing_left
run ktbctl attach 'sched:*' --max-events 3
check "--max-events" done_ '[ "$(events default)" -eq 3 ]' 'complains "over the limit.*max-events"'
ktbctl detach >/dev/null

run ktbctl attach 'no_such:*'
check "a pattern that matches nothing" failed 'complains "no event matches .no_such:"' nothing_left
run ktbctl attach sched:
check "a system and no event" failed "complains \"'sched:\\*'\"" nothing_left
run ktbctl attach sched
check "a system alone" failed "complains \"'sched:\\*'\"" nothing_left
run ktbctl attach sched:sched_swtich
check "a name with a typo" failed 'complains "did you mean sched:sched_switch"' nothing_left
run ktbctl attach schde:sched_switch
check "a system with a typo" failed 'complains sched:sched_switch' nothing_left
run ktbctl attach ftrace:function
check "an event that cannot be attached" failed 'complains "cannot attach ftrace:function"' nothing_left
run ktbctl attach 'ftrace:*'
check "a pattern of such events" failed 'complains ftrace:' 'complains "none of these"' nothing_left

# ---- on and off ----

ktbctl attach sched:sched_switch raw_syscalls:sys_enter >/dev/null
run ktbctl disable sched:sched_switch
check "disable an event" done_ 'says "sched:sched_switch disabled"' 'ktbctl status | grep -q "^    disabled"'
run ktbctl enable 'sched:*' --json
check "enable events, as JSON" done_ is_json '! ktbctl status | grep -q "^    disabled"'
run ktbctl disable
check "disable the session" done_ 'says "session .default. disabled"' \
	'ktbctl status | grep -q "session default .*: disabled"'
run ktbctl enable sched:sched_switch
check "an event of a disabled session: told" done_ 'complains "session .default. is disabled"'
run ktbctl enable
check "enable the session" done_ 'ktbctl status | grep -q "session default .*: enabled"'
run ktbctl disable no_such:event
check "disable what is not there" failed 'complains "no event"'
run ktbctl disable -s no_such
check "disable of no session" failed 'complains "no session"'
ktbctl detach >/dev/null

# ---- more than fits into one answer ----

# Names of many lengths: the end of a message falls between the ledgers of some event.
counters=$(awk 'BEGIN { for (n = 1; n <= 280; n++)
	print "page-faults/period=1,name=e" n substr("______________________________", n % 30 + 1) "/" }')
# shellcheck disable=SC2086 # a list of words
run ktbctl attach $counters -m 64K
check "many events" done_ '[ "$(events default)" -eq 280 ]'
taskset 1 ls / >/dev/null
taskset 2 ls / >/dev/null
ktbctl disable >/dev/null
run ktbctl status --per-cpu
check "status --per-cpu has each of them once, and all of its CPUs" done_ \
	'[ "$(grep -c "^ *e[0-9]" "$out")" -eq 280 ]' \
	'awk "/^ *e[0-9]/ { hits += \$3 } /^ *CPU [0-9]/ { of_cpus += \$3 } END { exit !hits || hits != of_cpus }" "$out"'
ktbctl detach >/dev/null

# ---- targets ----

sleep 60 &
child=$!
run ktbctl attach sched:sched_switch -p "$child,$$" -C 0
check "processes and CPUs" done_
run ktbctl status
check "status tells them" done_ 'says "only process $child,$$ and what it makes"' 'says "only on CPU 0"'
run ktbctl status --json
check "as JSON" done_ is_json 'says "\"pids\""' 'says "\"cpus\":\"0\"\|\"cpus\": *\"0\""'
ktbctl detach >/dev/null
run ktbctl attach sched:sched_switch -t "$child" --no-inherit
check "a thread" done_ 'ktbctl status | grep -q "only thread $child$"'
ktbctl detach >/dev/null
kill "$child"
wait "$child" 2>/dev/null
run ktbctl attach sched:sched_switch -p "$child"
check "a process that is gone" failed 'complains "no such process"' nothing_left
run ktbctl attach 'sched:*' -t "$child"
check "a thread that is gone" failed 'complains "no such thread"' '[ "$(wc -l <"$err")" -eq 1 ]' nothing_left
child=
run ktbctl attach sched:sched_switch -p 1 -t 1
check "-p and -t" usage 'complains "either -p.*or -t"' nothing_left
run ktbctl attach sched:sched_switch -p init
check "a name for -p" usage 'complains "-p init"' nothing_left
run ktbctl attach sched:sched_switch -C 0-4000
check "CPUs that there are not" failed 'complains "there is no CPU"' nothing_left
run ktbctl attach sched:sched_switch -C 1-0
check "CPUs the wrong way round" usage 'complains "-C 1-0"' nothing_left
if [ -e /sys/devices/system/cpu/cpu1/online ]; then
	echo 0 >/sys/devices/system/cpu/cpu1/online
	run ktbctl attach sched:sched_switch -C 1
	check "a CPU that is offline: told" done_ 'complains "CPU 1 is offline"'
	echo 1 >/sys/devices/system/cpu/cpu1/online
	ktbctl detach >/dev/null
else
	skip "a CPU that is offline: told" "one CPU only"
fi

# ---- control groups ----

groups=$dir/groups
mkdir "$groups"
if mount -t cgroup2 none "$groups" && mkdir "$groups/t_many"; then
	run ktbctl attach sched:sched_switch -G t_many
	check "a control group" done_ 'ktbctl status | grep -q "only in control group /t_many$"' \
		'ktbctl status --json | grep -q "\"cgroup\": *\"/t_many\""'
	ktbctl detach >/dev/null
	run ktbctl attach sched:sched_switch --cgroup /sys/fs/cgroup/t_many -C 0
	check "by its place in the file system" done_ 'ktbctl status | grep -q "group /t_many$"'
	ktbctl detach >/dev/null
	run ktbctl attach 'sched:*' -G t_gone
	check "one that is not there" failed 'complains "cgroup: no such group"' \
		'[ "$(wc -l <"$err")" -eq 1 ]' nothing_left
	run ktbctl attach page-faults -G t_many
	check "of counters" failed 'complains "cgroup: not for counters"' nothing_left
	rmdir "$groups/t_many"
	umount "$groups"
else
	for name in "a control group" "by its place in the file system" "one that is not there" "of counters"; do
		skip "$name" "no control groups here"
	done
fi
run ktbctl attach sched:sched_switch -G ''
check "no path" usage 'complains "-G : must be a path"' nothing_left

# ---- numbers ----

run ktbctl attach sched:sched_switch -c 0
check "-c 0" usage 'complains "-c 0: must be at least 1"' nothing_left
run ktbctl attach sched:sched_switch --max-stack 0
check "--max-stack 0" usage 'complains "max-stack 0: must be from 1 to 512"' nothing_left
run ktbctl attach sched:sched_switch --max-stack 100000
check "--max-stack 100000" usage 'complains "max-stack 100000: must be from 1 to 512"' nothing_left
run ktbctl attach 'sched:*' --max-events 0
check "--max-events 0" usage 'complains "max-events 0"' nothing_left
run ktbctl attach sched:sched_switch --count-only -g
check "callchains without records" usage 'complains "count-only"' nothing_left

ktbctl attach sched:sched_switch -c 100 -s plain >/dev/null
run ktbctl status -s plain
check "status tells the period" done_ 'says "every 100th hit"'
run ktbctl attach sched:sched_wakeup -g -s plain
check "callchains for a session without" failed 'complains "no callchains"'
run ktbctl read -s plain -C 4000
check "read of no CPU" failed 'complains 4000'
ktbctl detach -s plain >/dev/null

# ---- callchains ----

run ktbctl attach raw_syscalls:sys_enter -g
check "attach -g" done_ 'says callchains' 'ktbctl status | grep -q "callchains of up to 127 frames"'
ls / >/dev/null
run ktbctl read -n 20
check "read prints frames by name" done_ \
	'says "^	 *[0-9a-f]* do_syscall_64+0x[0-9a-f]* (\[kernel.kallsyms\])$"' 'says " (/.*)$"'
run ktbctl read -n 5 --json -t 5
check "and as JSON" done_ is_json 'says "\"callchain\":\[{\"addr\":[0-9]*,\"kernel\":true,\"symbol\":\""'
run ktbctl attach sched:sched_switch --max-stack 3
check "another --max-stack for a session" failed 'complains "callchains of 127 frames"'
restrict=$(cat /proc/sys/kernel/kptr_restrict)
echo 2 >/proc/sys/kernel/kptr_restrict
run ktbctl read -n 5 -t 5
check "hidden symbols: told once" done_ '[ "$(grep -c "it hides them" "$err")" -eq 1 ]' \
	'says "^	 *[0-9a-f]* \[unknown\] ("'
echo "$restrict" >/proc/sys/kernel/kptr_restrict
ktbctl detach >/dev/null

yes >/dev/null &
child=$!
run ktbctl record -e raw_syscalls:sys_enter -g -p "$child" -o "$dir/perf.data" -- sleep 0.2
check "record -g -p, of another process than the command" done_ 'complains "[1-9][0-9]* samples"'
kill "$child"
wait "$child" 2>/dev/null
child=
run ktbctl record -e raw_syscalls:sys_enter -g --max-stack 8 -C 0 -o "$dir/perf.data" -- taskset 1 ls /
check "record -g -C" done_ 'complains "[1-9][0-9]* samples"'
if command -v perf >/dev/null; then
	run perf script -i "$dir/perf.data"
	check "perf prints its callchains" done_ 'says "do_syscall_64+0x"' 'says "\[000\]"' '! says "\[001\]"'
else
	skip "perf prints its callchains" "no perf here"
fi

# ---- what it does itself ----

# Run a reader of system calls, and have them traced only while it reads.
read_calls() {
	ktbctl attach raw_syscalls:sys_enter >/dev/null
	ktbctl disable >/dev/null
	ktbctl read "$@" >"$out" 2>"$err" </dev/null &
	child=$!
	wait_for 'ktbctl status | grep -q "reader: process $child"'
	ktbctl enable >/dev/null
	wait_for '[ "$(wc -l <"$out")" -ge 100 ]'
	kill -INT "$child"
	wait "$child"
	status=$? ran="ktbctl read $*" reader=$child child=''
	ktbctl detach >/dev/null
}

read_calls
check "read leaves itself out" done_ "! says 'ktbctl-$reader '"
read_calls --self
check "--self does not" done_ "says 'ktbctl-$reader '"

end_tests
