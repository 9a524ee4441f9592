#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# perf record of our PMU and the kernel's: what both see they have to sample and print
# alike; the kernel's own recording beside ours; and a recorder that is killed.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand

# shellcheck source=selftests/pmu_lib.sh
. ./pmu_lib.sh
begin_tests 10

# ---- sampling ----

# Where the samples are from, into ours.txt and kernels.txt: CPU by CPU, since times
# order the hits of different CPUs differently for the two. Not of whom: between the two
# a task that ends may lose its number.
print_samples() {
	rm -f ours.[0-9]* kernels.[0-9]*
	perf script -i both.data -F cpu,event,ip 2>/dev/null | awk -v ours=" $ours:" -v kernels=" $kernels:" '
		match($0, /\[[0-9]+\]/) {
			cpu = substr($0, RSTART + 1, RLENGTH - 2)
			file = ""
			if (at = index($0, ours)) { file = "ours." cpu; len = length(ours) }
			else if (at = index($0, kernels)) { file = "kernels." cpu; len = length(kernels) }
			if (file) $0 = substr($0, 1, at) substr($0, at + len)
		}
		file && NF { gsub(/[ \t]+/, " "); print >file }'
	cat ours.[0-9]* >ours.txt
	cat kernels.[0-9]* >kernels.txt
}

# Record both. perf writes twice what comes while it looks how far a ring is written, see
# readers.sh: so it is to do that once, in the end.
record() { # argument...
	run perf record -c 1 -R -m 4M --mmap-flush 1M -o both.data -e "$group" "$@"
	[ "$status" -eq 0 ] || return
	print_samples
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
wait_for '[ "$(cat /sys/module/ktrace_bridge/refcnt)" -ge "$(nproc)" ]'
check "a recording holds the module" '! rmmod ktrace_bridge 2>/dev/null'
kill -9 $recorder
wait $recorder 2>/dev/null
check "killed, it does not" 'rmmod ktrace_bridge' '[ ! -e "$pmu" ]' 'insmod $module'

end_tests
