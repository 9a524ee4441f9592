# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What pmu_stat.sh and pmu_record.sh share: Debian's perf on events of our PMU, each
# beside the same event of the kernel's tracepoint PMU, in one group wherever that
# can be. Sourced, never run; by the guest's busybox sh.
#
# shellcheck disable=SC2034 # used by who sources this

pmu=/sys/bus/event_source/devices/ktrace_bridge
dir=$(mktemp -d /tmp/pmu.XXXXXX) || exit 1
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh
stat=$dir/stat
shown="$out $err $stat"
worker='' cgroup=''

finish() {
	[ -z "$worker" ] || kill "$worker" 2>/dev/null
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# perf fails in many ways.
failed() { [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; }
# Whoever reads in sysfs or debugfs meanwhile holds the module for that moment.
unused() { wait_for '[ "$(cat /sys/module/ktrace_bridge/refcnt)" -eq 0 ]'; }

# The same event of both PMUs, and as a group.
choose() { # event [modifier]
	kernels=$1
	ours=ktrace_bridge/$1/${2:-}
	group="{$ours,$kernels${2:+:$2}}"
}

if ! command -v perf >/dev/null; then
	echo "1..0 # SKIP no perf here"
	exit 4
fi
napping='for i in 1 2 3 4 5 6 7 8 9 10; do usleep 2000; done'
forking='for i in 1 2 3 4 5; do (usleep 1000; (usleep 1000); true); done'
