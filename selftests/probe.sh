#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl probe: events at places in the kernel and in a program, what their records
# have in them, and what is said of places and arguments that cannot be. Runs in the
# guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2154 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/probe.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
target=$here/probe_target
tracing=/sys/kernel/tracing

finish() {
	cd /
	ktbctl detach >/dev/null 2>&1
	ktbctl probe -d '*:*' >/dev/null 2>&1
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 55

there_is() { ktbctl probe -l | grep -q "^$1 "; }
no_probes() { [ ! -s $tracing/kprobe_events ] && [ ! -s $tracing/uprobe_events ]; }

# The mark is below the first letter of this.
marks() { # text
	awk -v text="$1" '{ if ($0 ~ /^ *\^$/) { found = index(before, text) == length($0) } before = $0 }
		END { exit !found }' "$err"
}

# A field of an event's records, one a line.
field() { # event field
	grep "\"event\":\"$1\"" "$dir/records" | sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

# What the session has, in $dir/records.
take_records() {
	ktbctl read --json -t 1 >"$dir/records" 2>/dev/null
}

# ---- in the kernel ----

run ktbctl probe -a 'myprobe do_sys_openat2 dfd=%di:s32 filename=+0(%si):ustring'
check "a probe with arguments" done_ quiet 'says "added ktb:myprobe (kprobe at do_sys_openat2)"' 'there_is ktb:myprobe'
run ktbctl probe -a 'myret=do_sys_openat2%return ret=$retval:s32'
check "a return probe, in perf's notation" done_ quiet 'says kretprobe' 'there_is ktb:myret'
run ktbctl probe -l
check "they are listed" done_ quiet 'says "ktb:myprobe  *kprobe  *do_sys_openat2 dfd=%di:s32 filename=+0(%si):ustring"'
run ktbctl probe -l --json
check "as JSON" done_ is_json 'says "kretprobe"'
run ktbctl list 'ktb:*'
check "and are events like any other" done_ 'says ktb:myprobe' 'says ktb:myret'
run ktbctl attach ktb:myprobe ktb:myret -m 4M
check "they are attached" done_ 'says "ktb:myprobe (perf)"'
echo one >"$dir/file-one"
for n in 1 2 3 4 5; do cat "$dir/file-one"; done >/dev/null
cat "$dir/no-such-file" 2>/dev/null
take_records
check "each call is a record, the string whole" '[ "$(field ktb:myprobe filename | grep -c "^$dir/file-one$")" -eq 6 ]'
check "the arguments" '[ "$(grep -c "\"dfd\":-100,\"filename\":\"$dir/file-one\"" "$dir/records")" -eq 6 ]'
check "and results: descriptors, and the one error" 'field ktb:myret ret | grep -qx 3' '[ "$(field ktb:myret ret | grep -cx -- -2)" -ge 1 ]'
ktbctl status --json >"$dir/closing"
run ktbctl probe -d myprobe
check "one that is attached is not removed" failed 'complains "in use"' 'there_is ktb:myprobe'
ktbctl detach >/dev/null
run ktbctl probe -d myprobe myret
check "then it is" done_ quiet 'says "removed ktb:myprobe"' no_probes

run ktbctl probe -a 'do_sys_openat2+0'
check "a name is made of the function's" done_ 'there_is ktb:do_sys_openat2_0'
ktbctl probe -d '*' >/dev/null
run ktbctl probe -a 'vfs_read $arg3' -a 'sys9:other vfs_write cnt=$arg3:u64 a=$comm b=$stack0:x64 c=+0(%di):x8[4]'
check "several at once: parameters, memory, stack, arrays" done_ 'there_is ktb:vfs_read' 'there_is sys9:other'
run ktbctl record -e ktb:vfs_read,sys9:other -o "$file" -- dd if=/dev/zero of=/dev/null bs=777 count=20
check "they are recorded" done_
run perf script -i "$file"
check_perf "and perf prints them" done_ '[ "$(grep -c "vfs_read:.*=\(0x309\|777\)$" "$out")" -ge 20 ]' \
	'[ "$(grep -c "sys9:other:.*cnt=777 a=\"dd\".* c={0x" "$out")" -ge 20 ]'
run perf stat -e ktb:vfs_read -a -x, -- dd if=/dev/zero of=/dev/null bs=777 count=20
check_perf "and perf counts them" done_ 'complains "^[1-9][0-9]*,,ktb:vfs_read"'
echo 'p:foreign/kept vfs_read' >>$tracing/kprobe_events
run ktbctl probe -d '*'
check "a pattern without a system removes those of ktb alone" done_ 'says "removed ktb:vfs_read"' \
	'! there_is ktb:vfs_read' 'there_is sys9:other' 'there_is foreign:kept'
run ktbctl probe -d 'kept'
check "as a name is of ktb alone" failed "complains \"no probe 'kept'\"" 'there_is foreign:kept'
run ktbctl probe -d 'sys9:*' 'foreign:*'
check "removed by patterns" done_ no_probes

# ---- made anew while it is read ----

anew() { # arguments
	ktbctl probe -a "anew vfs_read $*" >/dev/null
	ktbctl attach ktb:anew >/dev/null
	dd if=/dev/zero of=/dev/null bs=777 count=20 2>/dev/null
}

ktbctl attach task:task_newtask -m 4M >/dev/null
ktbctl read --json >"$dir/records" 2>/dev/null &
anew 'first=$arg3:u64'
wait_for 'field ktb:anew first | grep -q "^777$"'
ktbctl detach ktb:anew >/dev/null
ktbctl probe -d anew >/dev/null
anew 'ip=$stack0:x64 second=$arg3:u32'
check "its records have the fields that it has now" 'wait_for "[ \"\$(field ktb:anew second | grep -c ^777\$)\" -eq 20 ]"' \
	'[ "$(field ktb:anew first | grep -c "^777$")" -eq 20 ]'
kill $!
wait $!
ktbctl detach >/dev/null
ktbctl probe -d '*' >/dev/null

# ---- in a program ----

run ktbctl probe -a "up $target:probe_target n=%di:s32 text=+0(%si):string big=%dx:u64"
check "a function of a program" done_ 'says "uprobe at"'
run ktbctl probe -a "upret $target:probe_target%return ret=\$retval:s32"
check "its return" done_ 'says "uretprobe at"'
offset=$(ktbctl probe -l | sed -n 's/^ktb:up .*:\(0x[0-9a-f]*\) .*/\1/p')
run ktbctl probe -a "upoff $target:$offset n=%di:s32"
check "its offset" done_ "there_is ktb:upoff"
ktbctl attach ktb:up ktb:upret ktb:upoff -m 4M >/dev/null
"$target" 300 >/dev/null
take_records
seq 0 299 >numbers
check "each call, the argument exact" 'field ktb:up n | cmp -s - numbers'
check "by its offset too" 'field ktb:upoff n | cmp -s - numbers'
check "strings of the program" 'field ktb:up text | sed "s/^number //" | cmp -s - numbers'
check "all bits of a number" '[ "$(field ktb:up big | tail -n 1)" = 4294967595 ]'
check "and each result" 'field ktb:upret ret | awk "{ print (\$1 - 1) / 3 }" | cmp -s - numbers'
check "the ledger has 300 of each" '[ "$(ktbctl status --json | tr -d " \n\t" | grep -o "\"ledger\":{\"hits\":300,\"written\":300" | wc -l)" -eq 3 ]'
ktbctl detach >/dev/null
run ktbctl stat -e ktb:up,ktb:upret --json -- "$target" 50
check "they are counted" done_ '[ "$(tr -d " \n\t" <"$out" | grep -o "\"count\":50[,}]" | wc -l)" -eq 2 ]'
ktbctl probe -d '*' >/dev/null
check "nothing is left" no_probes

# ---- refusals ----

run ktbctl probe -a 'bad do_sys_openat3'
check "a misspelt function" failed "complains \"no function 'do_sys_openat3'\"" 'complains "did you mean do_sys_openat2"'
run ktbctl probe -a 'bad do_sys_openat2 dfd=%di x=%zz'
check "no such register, with a mark" failed 'complains "[Rr]egister"' 'marks %zz'
run ktbctl probe -a 'bad do_sys_openat2 dfd=%di:u77'
check "no such type, with a mark" failed 'complains "[Tt]ype"' 'marks u77'
run ktbctl probe -a 'bad do_sys_openat2 x=$retval'
check "a result where there is none" failed 'marks "\$retval" || marks "retval"'
run ktbctl probe -a 'bad do_sys_openat2+1'
check "in the middle of an instruction" failed '[ -s "$err" ]'
run ktbctl probe -a 'bad exc_int3'
check "what must not be probed" failed 'complains "must not be probed"'
notrace=$(comm_notrace() { for f in preempt_count_add rcu_is_watching ktime_get_mono_fast_ns sched_clock in_lock_functions; do
	grep -q " [tT] $f$" /proc/kallsyms && ! grep -q "^$f$" $tracing/available_filter_functions &&
		! grep -q "	$f$" /sys/kernel/debug/kprobes/blacklist && echo "$f" && return; done; }; comm_notrace)
if [ "$notrace" ]; then
	run ktbctl probe -a "bad $notrace"
	check "what is not to be traced ($notrace)" failed 'complains "not to be traced"'
else
	skip "what is not to be traced" "none of the functions known is notrace here"
fi
run ktbctl probe -a "bad $target:probe_targett"
check "a misspelt function of a program" failed 'complains "did you mean probe_target"'
run ktbctl probe -a "bad /no/such/file:main"
check "no such file" failed 'complains "no file /no/such/file"'
run ktbctl probe -a "good do_sys_openat2" -a 'bad do_sys_openat3'
check "one of two is wrong: neither is made" failed no_probes
run ktbctl probe -a 'twice do_sys_openat2'
run ktbctl probe -a 'twice vfs_read'
check "a name that is there" failed 'complains "there is an event"'
ktbctl probe -d twice >/dev/null
run ktbctl probe -d nothing
check "no such probe" failed "complains \"no probe 'nothing'\""
run su nobody -s /bin/sh -c 'ktbctl probe -l'
check "who may not see them" failed 'complains "Permission denied"'
run su nobody -s /bin/sh -c 'ktbctl probe -d nothing'
check "nor remove any" failed 'complains "Permission denied"'
run ktbctl probe
check "nothing to do" usage
run ktbctl probe -l --temporary
check "--temporary is for -a" usage

# ---- an interrupt ----

for n in $(seq 60); do echo "many$n vfs_read"; done >many
(
	set -- -a
	while read -r definition; do set -- "$@" "$definition"; done <many
	exec ktbctl probe "$@" >"$out" 2>"$err"
) &
adding=$!
wait_for '[ "$(grep -c many $tracing/kprobe_events)" -ge 2 ]'
kill $adding
wait $adding 2>/dev/null
check "all are made, or none" '[ "$(grep -c many $tracing/kprobe_events)" -eq 60 ]'
ktbctl probe -d '*' >/dev/null

# ---- temporary ones ----

mkfifo pipe
{ cat pipe; : >all_closed; } &
run ktbctl probe -a 'temp do_sys_openat2' --temporary 9>pipe
check "who stays keeps nothing open that it was started with" done_ 'wait_for "[ -e all_closed ]"' \
	'pidof ktbctl >/dev/null'
ktbctl attach ktb:temp >/dev/null
ktbctl attach -s other ktb:temp >/dev/null
ktbctl detach >/dev/null
check "a temporary probe stays while a session has it" done_ 'there_is ktb:temp'
ktbctl detach -s other >/dev/null
check "and goes with the last one" 'wait_for no_probes'
ktbctl probe -a 'temp do_sys_openat2' --temporary >/dev/null
ktbctl probe -d temp >/dev/null
ktbctl probe -a 'temp vfs_read' >/dev/null
ktbctl attach ktb:temp >/dev/null
ktbctl detach >/dev/null
sleep 3
check "another of its name does not go with it" 'there_is ktb:temp'
ktbctl probe -d temp >/dev/null
wait_for '! pidof ktbctl >/dev/null'
ktbctl probe -a 'temp do_sys_openat2' --temporary >/dev/null
ktbctl attach ktb:temp >/dev/null
run rmmod ktrace_bridge
insmod "$module"
check "it goes with the module, though that is loaded again at once" done_ 'wait_for no_probes' 'wait_for "! pidof ktbctl >/dev/null"'
ktbctl probe -a 'temp do_sys_openat2' --temporary >/dev/null
rmmod ktrace_bridge
insmod "$module"
sleep 3
ktbctl attach ktb:temp >/dev/null
run ktbctl detach
check "one that was not attached before goes with the next module's sessions" done_ 'wait_for no_probes' \
	'wait_for "! pidof ktbctl >/dev/null"'
check "nothing is left behind" nothing_left no_probes
end_tests
