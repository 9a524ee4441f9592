#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The tool as a 32-bit program on a 64-bit kernel: the tests of the tool once more,
# with ktbctl32 in its place, which attaches, lists, prints the status, maps and reads
# rings at offsets beyond 4 GiB; then a recording and a snapshot that perf is to read.
# Runs in the guest's busybox sh.

here=$(dirname "$(realpath "$0")")
dir=$(mktemp -d /tmp/ktbctl32.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0 failures=0

result() { # description command...
	number=$((number + 1))
	what=$1
	shift
	if "$@"; then
		echo "ok $number $what"
	else
		echo "not ok $number $what"
		failures=$((failures + 1))
	fi
}

# Byte 4 of an ELF file says how wide it is.
is_32bit() {
	[ "$(dd if="$1" bs=1 skip=4 count=1 2>/dev/null | hexdump -e '1/1 "%u"')" = 1 ]
}

# Its own results become comments; of a failure, all that it printed.
passes_with_it() { # test
	PATH=$dir:$PATH "$here/$1" >"$dir/said" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		sed -n 's/^# Totals: /# /p' "$dir/said"
	else
		echo "# exit status $status"
		sed 's/^/# /' "$dir/said"
	fi
	[ $status -eq 0 ] && ! grep -q '^not ok' "$dir/said"
}

# The samples that the tool said it wrote to a file are those that perf prints.
perf_prints_them() { # file, with what the tool said beside it
	told=$(grep '"type":"end"' "$1.said" | sed 's/"events":.*//' | grep -o '"samples":[0-9]*' | cut -d : -f 2)
	printed=$(perf script -i "$1" 2>"$dir/err" | wc -l)
	echo "# $told samples, perf prints $printed"
	[ "$told" -gt 0 ] && [ "$told" -eq "$printed" ]
}

records() {
	ktbctl32 record --json -o "$dir/record" -e sched:sched_switch -e raw_syscalls:sys_enter \
		-- dd if=/dev/zero of=/dev/null bs=1 count=200 2>"$dir/record.said" &&
		perf_prints_them "$dir/record"
}

takes_snapshots() {
	ktbctl32 attach raw_syscalls:sys_enter -s flight --overwrite -m 64K >/dev/null || return
	for i in 1 2; do
		dd if=/dev/zero of=/dev/null bs=1 count=200 2>/dev/null
		ktbctl32 snapshot --json -s flight -o "$dir/snapshot$i" 2>"$dir/snapshot$i.said" &&
			perf_prints_them "$dir/snapshot$i" || return
	done
	ktbctl32 detach -s flight >/dev/null
}

echo TAP version 13
program=$(command -v ktbctl32) || {
	echo '1..0 # SKIP no ktbctl32 on PATH'
	exit 4
}
echo 1..4
ln -s "$program" "$dir/ktbctl"
result "the program is a 32-bit one" is_32bit "$program"
result "ktbctl.sh with it" passes_with_it ktbctl.sh
if command -v perf >/dev/null; then
	result "perf reads what it records" records
	result "perf reads its snapshots" takes_snapshots
else
	echo "ok 3 perf reads what it records # SKIP no perf here"
	echo "ok 4 perf reads its snapshots # SKIP no perf here"
fi
[ $failures -eq 0 ]
