#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Debian's perf on events of our PMU, each beside the same event of the kernel's
# tracepoint PMU, in one group wherever that can be: what both see they have to
# count, sample and print alike. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand

module=/ktb/ktrace_bridge.ko
pmu=/sys/bus/event_source/devices/ktrace_bridge
dir=$(mktemp -d /tmp/pmu.XXXXXX) || exit 1
out=$dir/out err=$dir/err stat=$dir/stat
number=0 failures=0 status=0
worker='' cgroup=''

finish() {
	[ -z "$worker" ] || kill "$worker" 2>/dev/null
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# Run a command; its exit status and output are for the checks that follow.
run() {
	ran=$*
	timeout 100 "$@" >"$out" 2>"$err" </dev/null
	status=$?
}

explain() {
	echo "# $ran"
	echo "# exit status $status"
	for file in "$out" "$err" "$stat"; do
		[ ! -e "$file" ] || sed "s,^,# ${file##*/}: ," "$file" | head -n 20
	done
}

# A test: its name, and the checks that all have to succeed.
check() {
	number=$((number + 1))
	name=$1
	shift
	for condition; do
		if ! eval "$condition"; then
			echo "# not so: $condition"
			explain
			echo "not ok $number $name"
			failures=$((failures + 1))
			return 1
		fi
	done
	echo "ok $number $name"
}

done_() { [ "$status" -eq 0 ]; }
failed() { [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; }
says() { grep -q -e "$1" "$out"; }
complains() { grep -q -e "$1" "$err"; }
unused() { [ "$(cat /sys/module/ktrace_bridge/refcnt)" -eq 0 ]; }

# The same event of both PMUs, and as a group.
choose() { # event [modifier]
	kernels=$1
	ours=ktrace_bridge/$1/${2:-}
	group="{$ours,$kernels${2:+:$2}}"
}

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

[ -d /sys/module/ktrace_bridge ] || insmod "$module" || exit 1
if ! command -v perf >/dev/null; then
	echo "1..0 # SKIP no perf here"
	exit 4
fi
cd "$dir" || exit 1
echo TAP version 13
echo 1..27

napping='for i in 1 2 3 4 5 6 7 8 9 10; do usleep 2000; done'
forking='for i in 1 2 3 4 5; do (usleep 1000; (usleep 1000); true); done'

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
yes >/dev/null &
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
	number=$((number + 1))
	echo "ok $number stat -G: a cgroup # SKIP no cgroups here"
fi
cgroup=

# ---- sampling ----

# Where the samples of an event are from: CPU by CPU, since times order the hits of
# different CPUs differently for the two. Not of whom: between the two a task that
# ends may lose its number.
print_samples() { # event
	cpu=0
	while [ $cpu -lt "$(nproc)" ]; do
		perf script -i both.data -C $cpu -F cpu,event,ip 2>/dev/null
		cpu=$((cpu + 1))
	done | awk -v event=" $1:" '
		/\[[0-9]+\]/ { at = index($0, event); if (at) $0 = substr($0, 1, at) substr($0, at + length(event)) }
		at && NF { gsub(/[ \t]+/, " "); print }'
}

# Record both.
record() { # argument...
	run perf record -c 1 -R -o both.data -e "$group" "$@"
	[ $status -eq 0 ] || return
	print_samples "$ours" >ours.txt
	print_samples "$kernels" >kernels.txt
}
samples() { # file
	grep -c '\[[0-9]*\]' "$1"
}
same_samples() { # at least
	if [ "$(samples ours.txt)" -ge "$1" ] && cmp -s ours.txt kernels.txt; then return 0; fi
	diff ours.txt kernels.txt | sed 's/^/# /' | head -n 20
	return 1
}

choose sched:sched_switch
record -a -g -- sh -c "$napping"
check "record -a -g: samples and callchains" done_ 'same_samples 20' unused \
	'grep -q "^ [0-9a-f]*$" ours.txt'
run perf report --stdio -i both.data
check "perf report" done_ 'says "of events* .*ktrace_bridge/sched:sched_switch/"' 'says "__schedule"'
choose raw_syscalls:sys_enter
record -- sh -c "$forking"
check "record of a command that forks" done_ 'same_samples 100'
choose sched:sched_wakeup
record -a -g -- sh -c "$forking"
check "record of an event about another task" done_ 'same_samples 10'

id=$(cat /sys/kernel/tracing/events/sched/sched_switch/id)
run perf record -e "ktrace_bridge/event=$id/" -c 1 -g -R -a -o ours.data -- sh -c "$napping"
check "record by id" done_ 'complains "([1-9][0-9]* samples)"'
run perf record -F 100 -e ktrace_bridge/raw_syscalls:sys_enter/ -a -o ours.data -- sh -c "$napping"
check "record -F" done_ 'complains "samples)"'
run perf record -e ktrace_bridge/sched:sched_switch/ --filter "prev_pid > 1" -o ours.data true
check "--filter is not for our events" failed unused

# ---- the kernel's own, with the module loaded and without ----

run perf record -e sched:sched_switch -a -o kernels.data -- sh -c "$napping"
check "record of a plain tracepoint beside the loaded module" done_ \
	'perf script -i kernels.data 2>/dev/null | grep -q "prev_comm="'

perf record -e ktrace_bridge/raw_syscalls:sys_enter/ -c 1 -R -a -o ours.data -- sleep 20 >/dev/null 2>&1 &
recorder=$!
tries=0
until [ "$(cat /sys/module/ktrace_bridge/refcnt)" -ge "$(nproc)" ] || [ $tries -ge 300 ]; do
	usleep 100000
	tries=$((tries + 1))
done
check "a recording holds the module" '! rmmod ktrace_bridge 2>/dev/null'
kill -9 $recorder
wait $recorder 2>/dev/null
check "killed, it does not" 'rmmod ktrace_bridge' '[ ! -e "$pmu" ]' 'insmod $module'

echo "# Totals: pass:$((number - failures)) fail:$failures"
[ $failures -eq 0 ]
