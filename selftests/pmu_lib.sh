# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What pmu_stat.sh and pmu_record.sh share: Debian's perf on events of our PMU, each
# beside the same event of the kernel's tracepoint PMU, in one group wherever that
# can be. Sourced, never run; by the guest's busybox sh.
#
# shellcheck disable=SC2034 # used by who sources this

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
# Whoever reads in sysfs or debugfs meanwhile holds the module for that moment.
unused() {
	local i
	for i in 1 2 3 4 5; do
		[ "$(cat /sys/module/ktrace_bridge/refcnt)" -ne 0 ] || return 0
		usleep 200000
	done
	return 1
}

# The same event of both PMUs, and as a group.
choose() { # event [modifier]
	kernels=$1
	ours=ktrace_bridge/$1/${2:-}
	group="{$ours,$kernels${2:+:$2}}"
}

[ -d /sys/module/ktrace_bridge ] || insmod "$module" || exit 1
if ! command -v perf >/dev/null; then
	echo "1..0 # SKIP no perf here"
	exit 4
fi
cd "$dir" || exit 1
napping='for i in 1 2 3 4 5 6 7 8 9 10; do usleep 2000; done'
forking='for i in 1 2 3 4 5; do (usleep 1000; (usleep 1000); true); done'

# The plan; and the end.
plan() { # tests
	echo TAP version 13
	echo "1..$1"
}
totals() {
	echo "# Totals: pass:$((number - failures)) fail:$failures"
	[ $failures -eq 0 ]
}
