#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Who reads what ktbctl record writes: the tools of perf, and our own beside them;
# and who reads what perf record writes. Runs in the guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/readers.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

trap 'rm -rf "$dir"' EXIT
begin_tests 34

# Threads that wait, wake each other and change their CPU.
workload='for i in 1 2 3 4; do ls / | cat >/dev/null & taskset 1 true; taskset 2 true; wait; done'
# A system call with arguments that nothing else makes.
marked='for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=77 count=5 2>/dev/null; done'

in_order() { awk '{ time = $0; sub(/.*\] +/, "", time); time += 0; if (time < last) exit 1; last = time }' "$1"; }
same() { cmp -s "$1" "$2" || { diff "$1" "$2" | head -n 10 | sed 's/^/# /'; false; }; }
run_perf() { [ -z "$perf" ] || run "$@"; }

# ---- ours and perf's script, of one file ----

record -e sched:sched_switch,sched:sched_wakeup,sched:sched_migrate_task,raw_syscalls:sys_enter,raw_syscalls:sys_exit -- \
	sh -c "$workload"
check "a recording" done_ '[ "$(counter samples)" -gt 200 ]' '[ "$(counter lost)" -eq 0 ]'
script
check_perf "perf script" done_ quiet as_many_as_written
cp "$out" perf.lines
run ktbctl script -i "$file"
check "our script, in order across CPUs" done_ quiet as_many_as_written 'in_order "$out"'
check "threads changed their CPU" 'awk "{ tid = \$2; cpu = \$3 } (tid in at) && at[tid] != cpu && tid { moved = 1 } { at[tid] = cpu } END { exit !moved }" "$out"'
check_perf "line by line the same as perf's" 'same "$out" perf.lines'
run ktbctl script --json -i "$file"
check "as JSON, in order too" done_ '[ "$(wc -l <"$out")" -eq "$(counter samples)" ]' is_json \
	'sed "s/.*\"time\":\([0-9]*\),.*/\1/" "$out" | awk "\$1 < last { exit 1 } { last = \$1 }"'
run ktbctl script -i "$file" -e 'sched:*' -n 3
check "some of it" done_ '[ "$(wc -l <"$out")" -eq 3 ]' '! says sys_enter'
run ktbctl script -i "$file" -e no:such
check "of an event that is not there" failed 'complains "no event .no:such."'
run ktbctl script -i /no/such
check "of no file" failed 'complains "No such file"'
run ktbctl report -i "$file"
check "report" done_ 'says "samples of sched:sched_switch, count"' 'says "__schedule"' 'says "%.* ls "'
run ktbctl report --json -i "$file"
check "report as JSON" done_ is_json \
	'[ "$(sed -n "s/^      \"samples\":\([0-9]*\),*$/\1/p" "$out" | awk "{ sum += \$1 } END { print sum }")" -eq "$(counter samples)" ]'

# ---- perf's other tools, and those of a newer perf ----

# Columns are not always as wide, and a newer perf forgets the name of a thread that
# ends before its last samples.
squeezed() { tr -s ' ' <"$1" | sed 's/^ *[^ ]* //' >"$1.squeezed"; }
converted() { sed -n 's/.*Converted and wrote .*(\([0-9]*\) .*/\1/p' "$1"; } # samples
tools_of() { # perf
	tool=$1
	run_perf "$tool" report --stdio -i "$file"
	check_perf "$tool report" done_ 'says "of event .raw_syscalls:sys_enter."' 'says "%  ls "'
	run_perf "$tool" sched -i "$file" latency
	check_perf "$tool sched latency" done_ 'says "Task .*Runtime"' 'says "^  *ls:\|^  ls"' 'says TOTAL'
	run_perf "$tool" data convert --to-json "$tool.json" -i "$file"
	check_perf "$tool data convert --to-json" done_ \
		'[ "$(grep -c "\"timestamp\"" "$tool.json")" -eq "$(counter samples)" ]'
	run_perf "$tool" data convert --to-ctf "$tool.ctf" -i "$file"
	check_perf "$tool data convert --to-ctf" done_ '[ -s "$tool.ctf/metadata" ]' \
		'[ "$(converted "$err")" -eq "$(counter samples)" ]'
}
tools_of perf
# Not the newer one's: that of 6.12 crashes on perf's own files too.
run perf trace -i "$file"
check_perf "perf trace" done_ '[ "$(cat "$out" "$err" | grep -c "execve(.*) *= 0\|write(fd: 1.*) *= ")" -gt 1 ]'
run perf timechart -i "$file" -o chart.svg
check_perf "perf timechart" done_ 'grep -q "</svg>" chart.svg'
cp "$dir/closing" closing.plain
record -z -e sched:sched_switch,raw_syscalls:sys_enter -- sh -c "$marked"
mv "$file" packed.data && mv perf.data.old "$file"
cp "$dir/closing" closing.packed && cp closing.plain "$dir/closing"

# On one kernel of a run: each time, perf takes some seconds to begin.
perf='' no_perf="a newer perf's turn is on another kernel"
[ "${KTB_LONG:-0}" = 0 ] || perf=$(command -v perf-new)
run_perf perf-new script -i "$file"
cp "$out" new.lines
check_perf "perf-new script" done_ quiet 'squeezed new.lines' 'squeezed perf.lines' \
	'same new.lines.squeezed perf.lines.squeezed'
tools_of perf-new
cp closing.packed "$dir/closing"
run_perf perf-new script -i packed.data
check_perf "perf-new expands what is compressed" done_ quiet as_many_as_written
perf=$(command -v perf) no_perf=''

# ---- the same, recorded by perf ----

# perf record asks a ring twice how far it is written, writes what is there at the second
# time, and goes on next time where it was at the first: what another CPU wrote in between
# is in the file twice. With -a it finds its own calls in the rings, and reads them without
# end. So it is to leave the rings alone as long as the work goes on, and read each once.
perf_record() { # option...
	perf record -q -a -m 4M --mmap-flush 1M -e raw_syscalls:sys_enter -o theirs.data "$@" -- \
		sh -c "$marked" >/dev/null 2>&1
}
lines_of() { # the marked calls of one recording: event, command, fields
	"$@" 2>/dev/null | sed -n 's/^ *\(dd\) .*: *\(raw_syscalls:[a-z_]*: .*\)$/\1 \2/p' |
		grep ' NR 1 (1, [0-9a-f]*, 4d' | sed 's/(1, [0-9a-f]*,/(1, buffer,/; s/, 4d, .*/, 4d)/'
}
chains_of() { # likewise their call chains; where programs are mapped differs
	"$@" 2>/dev/null | awk '/^ *dd .*: NR 1 \(1, [0-9a-f]*, 4d,/ { print "marked"; on = 1; next }
		!/^\t/ { on = 0 }
		on { sub(/^\t */, "") }
		on && /^ffff/ { print }
		on && !/^ffff/ { print substr($1, length($1) - 2), $NF }'
}
kernel_frames() { grep '^ffff\|^marked' "$1"; }
if [ "$perf" ]; then
	record -e raw_syscalls:sys_enter -- sh -c "$marked"
	lines_of perf script -i "$file" >ours
	perf_record
	lines_of perf script -i theirs.data >theirs
	ran='perf record' status=0
	check "the same work recorded by perf gives the same lines" '[ "$(wc -l <ours)" -eq 15 ]' 'same ours theirs'
	run ktbctl script -i theirs.data
	lines_of cat "$out" >theirs
	check "and so it does read by us" done_ quiet 'same ours theirs'

	record -g -e raw_syscalls:sys_enter -- sh -c "$marked"
	chains_of perf script -i "$file" >ours
	run ktbctl script -i "$file"
	chains_of cat "$out" >ours.read
	perf_record -g
	chains_of perf script -i theirs.data >theirs
	ran='perf record -g' status=0
	check "with call chains, the same frames" '[ "$(grep -c "^marked" ours)" -eq 15 ]' \
		'[ "$(grep -c "kernel.kallsyms" ours)" -ge 30 ]' \
		'same ours theirs'
	check "and so read by us" '[ "$(grep -c "^marked" ours.read)" -eq 15 ]' 'kernel_frames ours >a' \
		'kernel_frames ours.read >b' 'same a b'

	# Call chains, and compression, of perf's own. A frequency given with -F would be the
	# tracepoint's too, and perf leave out switches.
	run perf record -q -z -g -a -e sched:sched_switch -e cpu-clock/freq=999,name=cpu-clock/ -o chains.data -- \
		sh -c "$workload; sleep 0.5 | cat"
	check "perf record -g -z" done_
	perf script -i chains.data 2>/dev/null >perf.lines
	run ktbctl script -i chains.data
	# Programs here are stripped, and perf makes up names for their stubs.
	without_user() { grep -v '^.[ 0-9a-f]\{16\} .* (/\|(\[vdso\])' "$1"; }
	without_user "$out" >ours
	without_user perf.lines >theirs
	check "its call chains, as perf prints them" done_ '[ "$(grep -c "kernel.kallsyms" ours)" -gt 100 ]' \
		'same ours theirs'
	ktbctl flame -i chains.data -e cpu-clock -o flame.svg >/dev/null
	run ktbctl flame -i chains.data -e cpu-clock -o -
	check "a flame graph of them" done_ 'grep -q "<title>do_syscall_64 " flame.svg' 'cmp -s "$out" flame.svg'
	run ktbctl flame -i chains.data -e cpu-clock --folded
	grep '^swapper;' "$out" | sort >ours
	# What stackcollapse-perf.pl does. Idle's chains are the kernel's alone.
	perf script -i chains.data 2>/dev/null | awk '
		/^swapper.* cpu-clock: / { n = 0; idle = 1; period = $0; sub(/ *cpu-clock:.*/, "", period); sub(/.* /, "", period) }
		/^[^\t]/ && !/^swapper.* cpu-clock: / { idle = 0 }
		/^\t/ && idle { name = $2; sub(/\+0x[0-9a-f]*$/, "", name); chain[n++] = name "_[k]" }
		/^$/ && idle { all = "swapper"; while (n) all = all ";" chain[--n]; sum[all] += period; idle = 0 }
		END { for (all in sum) print all, sum[all] }' | sort >theirs
	check "folded, what is drawn is what perf prints" done_ '[ -s ours ]' \
		'same ours theirs'
	run ktbctl flame -i chains.data --off-cpu --folded
	check "and of the time off the CPU" done_ 'says "^cat;.*pipe_read.*__schedule_\[k\] [0-9]*$"'
	sysctl -q -w kernel.kptr_restrict=2
	run ktbctl flame -i chains.data -e cpu-clock -o hidden.svg
	sysctl -q -w kernel.kptr_restrict=0
	check "hidden symbols are told" done_ 'complains kptr_restrict' 'grep -q "kernel.kallsyms" hidden.svg'
else
	for what in lines reading frames frames-read record chains flame folded off-CPU hidden; do
		skip "$what" 'no perf here'
	done
fi
sysctl -q -w kernel.kptr_restrict=2
record -e sched:sched_switch true
sysctl -q -w kernel.kptr_restrict=0
check "and when they are recorded" done_ 'complains kptr_restrict' '[ "$(counter samples)" -gt 0 ]'

end_tests
