#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# perf stat of our PMU and the kernel's: what both see they have to count alike.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand

# shellcheck source=selftests/pmu_lib.sh
. ./pmu_lib.sh
begin_tests 17

# Count both with perf stat's options and a command.
count() { # argument...
	rm -f "$stat"
	run perf stat -x , -o "$stat" -e "$group" "$@"
}

# The counts of an event, one a line: "count,unit,event,...", perhaps with a CPU, a
# thread or a time in front.
counts() { # event
	awk -F , -v event="$1" '{ for (i = 3; i <= NF; i++) if ($i == event) print $(i - 2) }' "$stat"
}
total() { counts "$ours" | awk '{ sum += $1 } END { print sum + 0 }'; }

# As many lines of the one as of the other, and the same counts.
agree() {
	counts "$ours" >"$dir/ours"
	counts "$kernels" >"$dir/kernels"
	if [ -s "$dir/ours" ] && cmp -s "$dir/ours" "$dir/kernels"; then return 0; fi
	sed 's/^/# ours: /' "$dir/ours"
	sed 's/^/# kernels: /' "$dir/kernels"
	return 1
}

# ---- names ----

run perf list
check "perf list names our events" done_ 'says "ktrace_bridge/sched:sched_switch/"' \
	'says "ktrace_bridge/raw_syscalls:sys_enter/"'
run perf stat -e ktrace_bridge/event=0xffff/ true
check "no such event" 'complains "<not supported>"' unused
run perf stat -e ktrace_bridge/no:such/ true
check "no such name" failed 'complains "unknown term"'

# ---- counting ----

choose sched:sched_switch
count -a -- sh -c "$napping"
check "stat -a" done_ agree '[ "$(total)" -ge 20 ]' unused
count -- sh -c "$napping"
check "stat of a command" done_ agree '[ "$(total)" -ge 10 ]'
count -a --no-inherit -- sh -c "$napping"
check "stat --no-inherit" done_ agree '[ "$(total)" -ge 20 ]'
choose sched:sched_process_fork
count -- sh -c "$forking"
check "stat of a command that forks: inherited" done_ agree '[ "$(total)" -ge 10 ]'
choose sched:sched_wakeup
count -a -- sh -c "$forking"
check "stat of an event about another task" done_ agree '[ "$(total)" -gt 10 ]'
choose raw_syscalls:sys_enter u
count -- sh -c "$napping"
check "user space only: a tracepoint has none" done_ agree '[ "$(total)" -eq 0 ]'
choose raw_syscalls:sys_enter
count -C 1 -- sh -c "$napping"
check "stat -C" done_ agree '[ "$(total)" -gt 0 ]'
count -a -A -- sh -c "$napping"
check "stat -a -A: CPU by CPU" done_ agree '[ "$(counts "$ours" | wc -l)" -eq "$(nproc)" ]'
count -r 3 -- sh -c "$napping"
check "stat -r 3" done_ agree '[ "$(total)" -gt 10 ]'
count -a -I 100 -- usleep 1000000
check "stat -I 100: each interval" done_ agree '[ "$(counts "$ours" | wc -l)" -ge 4 ]'

# One that does not fork: a group cannot be opened while contexts are swapped with
# those of children that end, neither the kernel's events nor ours.
# It switches with interrupts off: what perf does on its CPU comes between none of its
# hits' two counters.
choose sched:sched_switch
yes | cat >/dev/null &
worker=$!
count -p $worker -- usleep 300000
check "stat -p" done_ agree '[ "$(total)" -gt 10 ]'
count -t $worker -- usleep 300000
check "stat -t" done_ agree '[ "$(total)" -gt 10 ]'
count -p $worker --per-thread -- usleep 300000
check "stat --per-thread" done_ agree '[ "$(total)" -gt 10 ]'
kill $worker
wait $worker 2>/dev/null
worker=

# Who has any controller has that of perf, which cannot be asked for.
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
sed 's/ .*//; s/^/+/' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control
cgroup=/sys/fs/cgroup/ktb
if mkdir "$cgroup" 2>/dev/null; then
	sh -c "echo \$\$ >$cgroup/cgroup.procs; while :; do usleep 1000; done" &
	worker=$!
	count -a -G ktb,ktb -- usleep 300000
	check "stat -G: a cgroup" done_ agree '[ "$(total)" -gt 10 ]'
	kill $worker
	wait $worker 2>/dev/null
	worker=
	rmdir "$cgroup"
else
	skip "stat -G: a cgroup" "no cgroups here"
fi
cgroup=

end_tests
