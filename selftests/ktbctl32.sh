#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The tool as a 32-bit program on a 64-bit kernel: the tests of the tool once more,
# with ktbctl32 in its place. It attaches, lists, prints the status, maps and reads
# rings at offsets beyond 4 GiB, records and takes snapshots. Runs in the guest's
# busybox sh.

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
with_ktbctl32() { # test
	PATH=$dir:$PATH "$here/$1" >"$dir/said" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		sed -n 's/^# Totals: /# /p; s/^\(ok .*# SKIP\)/# \1/p' "$dir/said"
	else
		echo "# exit status $status"
		sed 's/^/# /' "$dir/said"
	fi
	[ $status -eq 0 ] && ! grep -q '^not ok' "$dir/said"
}

echo TAP version 13
program=$(command -v ktbctl32) || {
	echo '1..0 # SKIP no ktbctl32 on PATH'
	exit 4
}
echo 1..4
ln -s "$program" "$dir/ktbctl"
# perf runs this helper for 32-bit programs, and complains of its absence: Debian has none
printf '#!/bin/sh\n' >"$dir/perf-read-vdso32"
chmod +x "$dir/perf-read-vdso32"
result "the program is a 32-bit one" is_32bit "$program"
for test in ktbctl.sh record_file.sh snapshot.sh; do
	result "$test with it" with_ktbctl32 "$test"
done
[ $failures -eq 0 ]
