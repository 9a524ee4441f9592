#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl's graph of calls beside ftrace's function_graph, both at work in the same run: a
# program that is preempted inside of its calls, and moved from CPU to CPU. Runs in the
# guest's busybox sh.
#
# shellcheck disable=SC2016,SC2034,SC2154 # conditions are evaluated by check, not where they stand

dir=$(mktemp -d /tmp/graph.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
tracing=/sys/kernel/tracing
functions='ksys_read vfs_read rw_verify_area read_zero ksys_write vfs_write write_null'
hogs=

ftrace_on() {
	echo 8192 >$tracing/buffer_size_kb
	# one time on all CPUs: the local clocks put what was moved in any order
	echo mono >$tracing/trace_clock
	echo "$functions" >$tracing/set_ftrace_filter
	echo function_graph >$tracing/current_tracer
	# options of this tracer
	echo funcgraph-proc >$tracing/trace_options
	echo funcgraph-tail >$tracing/trace_options
}

ftrace_off() {
	[ "$(cat $tracing/current_tracer)" = function_graph ] || return
	echo nofuncgraph-proc >$tracing/trace_options
	echo nofuncgraph-tail >$tracing/trace_options
	echo nop >$tracing/current_tracer
	echo local >$tracing/trace_clock
	echo >$tracing/set_ftrace_filter
	echo 1 >$tracing/buffer_size_kb
	echo 1 >$tracing/tracing_on
}

end_hogs() {
	for hog in $hogs; do kill "$hog"; done
	hogs=
}

finish() {
	cd /
	end_hogs
	ktbctl detach >/dev/null 2>&1
	ftrace_off
	rm -rf "$dir"
}
trap finish EXIT
begin_tests 10

# Long calls, while others want the CPU and the program has to leave it again and again.
be_moved() {
	for cpu in 1 2; do
		taskset $cpu sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	dd if=/dev/zero of=/dev/null bs=4M count=30 2>/dev/null &
	pid=$! cpu=1
	while taskset -p $cpu $pid >/dev/null 2>&1; do
		cpu=$((3 - cpu))
		usleep 10000
	done
	wait $pid
	end_hogs
}

# Where calls began, with their depth, which is all of the tree; and of each function,
# how many returned. The place of a return is ftrace's guess: it takes the next return on
# the CPU of a call for that call's own, if thread and function are the same, and writes
# "name();". Of a call that ended elsewhere that is a later one's, which then has none.
calls() { sed -n 's/^\( *[^ ()]*\)()\(;\| {\)$/\1/p'; }
returns() { sed -n 's/^ *\([^ ()]*\)();$/\1/p; s/^ *} \/\* \([^ ]*\) \*\/$/\1/p' | sort | uniq -c; }

# Each return closes the call that is open, at its own depth.
in_place() {
	awk '{ depth = match($0, /[^ ]/) } /\(\) \{$/ { open[++nr] = depth $1 }
		/\} \/\*/ { if (open[nr--] != depth $3 "()") bad++ } END { exit bad || nr }'
}

# The time in all that calls of a function took, in us.
duration() { # function file
	grep -e "| *$1();" -e "| *} /\* $1 \*/" "$2" |
		awk '{ for (i = 2; i <= NF; i++) if ($i == "us") sum += $(i - 1) } END { printf "%.0f\n", sum }'
}

# Calls that began on one CPU and ended on another.
moved() {
	awk 'index($0, "read_zero() {") { cpu = $1 }
		index($0, "} /* read_zero */") && $1 != cpu { nr++ } END { print nr + 0 }' theirs
}

run ktbctl attach "fgraph:$functions" -m 8M
check "attached" done_
ftrace_on
be_moved
echo 0 >$tracing/tracing_on
ktbctl status --json >"$dir/closing"
ktbctl read -t 1 2>/dev/null | grep -e "-$pid  *\[" >ours
grep -e "-$pid *|" $tracing/trace >theirs
sed 's/^[^|]*| //' ours >our-picture
sed 's/^[^|]*|[^|]*|  //' theirs >their-picture
for whose in our their; do
	calls <$whose-picture >$whose-calls
	returns <$whose-picture >$whose-returns
done
check "as many calls" '[ "$(wc -l <our-calls)" -ge 180 ]' '[ "$(wc -l <our-calls)" -eq "$(wc -l <their-calls)" ]'
check "the same calls, the same nesting, in the same order" 'cmp our-calls their-calls || { diff our-calls their-calls | head -n 30 | sed "s/^/# /"; false; }'
check "as many returns of each" 'cmp our-returns their-returns || { diff our-returns their-returns | sed "s/^/# /"; false; }' \
	'[ "$(awk "{ sum += \$1 } END { print sum }" our-returns)" -eq "$(wc -l <our-calls)" ]'
check "each return of ours behind its call" 'in_place <our-picture'
check "inside of each other" 'grep -q "^ksys_read() {" our-picture' 'grep -q "^    read_zero" our-picture'
check "some began on one CPU and ended on another" '[ "$(moved)" -gt 0 ]'
check "as long, within a quarter" '[ $(($(duration ksys_read ours) * 4)) -gt $(($(duration ksys_read theirs) * 3)) ]' \
	'[ $(($(duration ksys_read theirs) * 4)) -gt $(($(duration ksys_read ours) * 3)) ]'
check "nothing is lost" 'grep -q "\"lost_full\": *0" "$dir/closing"' '! grep -q "\"lost_[a-z]*\": *[1-9]" "$dir/closing"'
ktbctl detach >/dev/null
check "nothing is left behind" nothing_left
end_tests
