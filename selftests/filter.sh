#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl --filter and --bpf: that a filter takes what ftrace's own takes of the same
# hits, and what is said of one that is wrong. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2154 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/filter.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
tracing=/sys/kernel/tracing
ftrace=$tracing/instances/ktb_filter

trap 'cd /; rmdir $ftrace 2>/dev/null; ktbctl detach -s t_filter >/dev/null 2>&1; rm -rf "$dir"' EXIT
begin_tests 44
mkdir $ftrace || exit 1

# The load: a process whose name is its own, with 50 reads and writes of one byte
# and a file that is not there.
cp /proc/$$/exe "$dir/ktb_load"
load() {
	sh -c "exec -a dd '$dir/ktb_load' if=/dev/zero of=/dev/null bs=1 count=50" 2>/dev/null
	sh -c "exec -a cat '$dir/ktb_load' '$dir/none'" 2>/dev/null
}

field() { tr -d ' \n\t' <"$out" | grep -o "\"$1\":[0-9]*" | head -n 1 | sed 's/.*://'; }

# Attach, as ftrace does, let the load run, and detach both. The filters are such that
# nothing but the load passes: they need not begin and end at once.
compare() { # event filter
	at=$ftrace/events/$(echo "$1" | tr : /)
	echo >$ftrace/trace
	echo "$2" >"$at/filter" || return 1
	echo 1 >"$at/enable"
	ktbctl attach "$1" --filter "$2" -s t_filter >/dev/null || return 1
	load
	run ktbctl detach -s t_filter --json
	echo 0 >"$at/enable"
	echo 0 >"$at/filter"
	theirs=$(grep -c -v '^#\|^$' $ftrace/trace)
	ours=$(field written)
}

# The same number of hits passes, and that is not none, nor all.
same() { # event filter
	compare "$1" "$2"
	check "$1: $2" done_ '[ "$theirs" -gt 0 ]' '[ "$ours" -eq "$theirs" ]' '[ "$(field filtered)" -gt 0 ]' \
		'[ "$(field hits)" -eq $((ours + $(field filtered))) ]'
}

enter=raw_syscalls:sys_enter
same $enter 'comm == "ktb_load" && id == 0'
same $enter 'comm ~ "ktb_*" && (id == 0 || id == 1)'
same $enter 'comm == "ktb_load" && id & 1 && !(id > 100)'
same $enter 'id <= 1 && comm ~ "*_loa*"'
same $enter 'comm ~ "k?b_[a-m]*" && id != 1'
same raw_syscalls:sys_exit 'comm == "ktb_load" && ret < 0'
same raw_syscalls:sys_exit 'comm == "ktb_load" && ret >= 1 && ret < 0x100000000'
same raw_syscalls:sys_exit 'comm == "ktb_load" && ret == -2'
same sched:sched_process_exec 'filename ~ "*/ktb_load"'
same sched:sched_process_exec "filename == \"$dir/ktb_load\""
same sched:sched_process_exec "filename ~ \"$dir/*\" && pid > 1"
same task:task_rename 'newcomm == "ktb_load"'
same sched:sched_process_exit 'comm ~ "ktb*d" || pid == 1'
same sched:sched_switch 'prev_comm == "ktb_load" || next_comm ~ "*b_loa*"'

# Through the perf core: a probe of the tracefs kind, with a string.
echo 'p:ktb_filter/open do_sys_openat2 dfd=%di:s32 path=+0(%si):ustring' >>$tracing/kprobe_events
same ktb_filter:open 'dfd == -100 && path ~ "*/none"'
same ktb_filter:open 'path == "'"$dir/none"'" && common_pid > 1'
echo '-:ktb_filter/open' >>$tracing/kprobe_events

# ---- commands ----

run ktbctl attach $enter sched:sched_switch --filter 'common_pid != 0' -s t_filter
check "attach, to all events" done_
run ktbctl status -s t_filter
check "status shows it" done_ '[ "$(grep -c "only what BPF program [0-9]* takes: common_pid != 0" "$out")" -eq 2 ]'
run ktbctl status -s t_filter --json
check "as JSON" done_ is_json 'says "\"program_text\": *\"common_pid != 0\""' '[ "$(field program)" -gt 0 ]'
run ktbctl detach -s t_filter
check "detach" done_ nothing_left
run ktbctl attach 'sched:sched_*' --filter 'next_pid == 0' -s t_filter
check "of a pattern, those that have the field" done_ 'says "sched:sched_switch"' '! says "sched:sched_waking"' \
	'complains "no field"'
ktbctl detach -s t_filter >/dev/null

record -e $enter --filter 'id == 0' -e sched:sched_process_exit -- \
	sh -c "exec -a dd '$dir/ktb_load' if=/dev/zero of=/dev/null bs=1 count=300"
check "record, of the event before" done_ ledger_is_exact '[ "$(counter written)" -ge 301 ]' '[ "$(counter filtered)" -ge 300 ]'
script
check_perf "perf sees nothing else" done_ '[ "$(grep -c "NR 0 " "$out")" -ge 300 ]' '! grep sys_enter "$out" | grep -v -q "NR 0 "' \
	'says sched_process_exit'
record -e 'raw_syscalls:*' -e $enter --filter 'id == 0' -- true
check "a name behind a pattern has its own filter" ledger_is_exact '[ "$(counter filtered)" -gt 0 ]'
run ktbctl stat --json -e $enter --filter 'id == 1' -- sh -c "exec -a dd '$dir/ktb_load' if=/dev/zero of=/dev/null bs=1 count=300"
check "stat" done_ is_json '[ "$(field count)" -ge 300 ]' '[ "$(field count)" -lt 350 ]'

# The common fields of 6.1-rt are longer.
program=program.bpf.o
grep -q 'long id;.*offset:16;' $tracing/events/raw_syscalls/sys_enter/format && program=program_16.bpf.o
run ktbctl stat --json -e $enter --bpf "$here/$program:tracepoint" -- \
	sh -c "exec -a dd '$dir/ktb_load' if=/dev/zero of=/dev/null bs=1 count=300"
check "a program from a file" done_ '[ "$(field count)" -ge 300 ]' '[ "$(field count)" -lt 350 ]'
record -e cpu-clock --bpf "$here/program.bpf.o:nothing" -F 1000 -a -- sleep 0.2
check "one for a counter, that takes nothing" done_ ledger_is_exact '[ "$(counter written)" -eq 0 ]' '[ "$(counter filtered)" -gt 10 ]'

# ---- refusals ----

run ktbctl attach $enter --filter 'id == ' -s t_filter
check "no value" failed 'complains "column 7: expected a number, and it ends here"' nothing_left
run ktbctl attach $enter --filter 'nr == 3' -s t_filter
check "no such field" failed "complains \"column 1: sys_enter has no field 'nr'; it has id, args\""
run ktbctl attach cpu-clock --filter 'id == 3' -s t_filter
check "a counter" failed 'complains "no fields"' nothing_left
run ktbctl attach function:vfs_read --filter 'ip == 3' -s t_filter
check "a function" failed 'complains "functions"' nothing_left
run ktbctl record --filter 'id == 3' -e $enter -- true
check "before -e" usage 'complains "behind the -e"'
run ktbctl record -e $enter -e 'raw_syscalls:sys_e*er' --filter 'nonsense' -- true
check "that no event is left for" failed 'complains "nonsense: no event is left for it"' nothing_left
run ktbctl stat -e faults -e 'raw_syscalls:*' --filter 'nonsense' -e '!raw_syscalls:*' -- true
check "nor for counting" failed 'complains "no event is left for it"'
run ktbctl attach $enter --filter 'id == 3' --bpf x.o
check "two of them" usage 'complains "second"'
run ktbctl stat -e faults --filter 'id == 3' -- true
check "a counter that only counts" failed 'complains faults'
run ktbctl attach $enter --bpf /no/such.o -s t_filter
check "no such file" failed 'complains "No such file"' nothing_left
run ktbctl attach $enter --bpf "$here/json_check" -s t_filter
check "no BPF object" failed 'complains json_check' nothing_left
run ktbctl attach $enter --bpf "$here/program.bpf.o" -s t_filter
check "which program" failed 'complains "which program of only_reads, nothing, refused"'
run ktbctl attach $enter --bpf "$here/program.bpf.o:other" -s t_filter
check "no such program" failed "complains \"no program 'other'; there is only_reads, nothing, refused\""
run ktbctl attach $enter --bpf "$here/program.bpf.o:nothing" -s t_filter
check "a program of the other type" failed 'complains "takes a BPF program of type tracepoint"' nothing_left
run ktbctl attach cpu-clock --bpf "$here/program.bpf.o:refused" -s t_filter
check "a program the verifier refuses" failed 'complains "refused it: Permission denied: R0 !read_ok"' nothing_left
run ktbctl attach task:task_newtask --bpf "$here/program.bpf.o:only_reads" -s t_filter
check "one that fits any record" done_
run ktbctl detach -s t_filter
check "nothing is left" done_ nothing_left
end_tests
