#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktbctl record on a real file system, where it writes past the page cache: that it
# does, and when it does not; that nothing is missing, that a kill takes no more along
# than what is new, and that a full disk is told exactly. Runs in the guest's busybox
# sh, with a disk (scripts/vm/run --disk).
#
# shellcheck disable=SC2016,SC2034 # conditions are evaluated by check, not where they stand
# shellcheck disable=SC2086 # a list of words

dir=$(mktemp -d /tmp/direct.XXXXXX) || exit 1
recorder=
# shellcheck source=selftests/ktb_check.sh
. ./ktb_check.sh

finish() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	cd /
	umount "$dir/disk" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
mkdir "$dir/disk"
why=$(guest-disk "$dir/disk" 2>&1)
if [ $? -eq 4 ]; then
	echo TAP version 13
	echo "1..0 # SKIP $why"
	exit 4
fi
begin_tests 18
ran=guest-disk
check "a disk" '[ -z "$why" ]' || echo "# $why"
file=$dir/disk/perf.data
export file

samples_in_file() { ktbctl script -i "$1" 2>/dev/null | wc -l; }
reads_all() { [ "$(samples_in_file "$file")" -eq "$(counter samples)" ]; }

many='dd if=/dev/zero of=/dev/null bs=1 count=10000'

# Of what was recorded, the part in percent that went through the page cache, since
# dirtied() was remembered. No other file of a disk is written to.
dirtied() { awk '$1 == "nr_dirtied" { print $2 }' /proc/vmstat; }
cached() { echo $((($(dirtied) - before) * 4096 * 100 / $(counter bytes))); }

# The recorder stands still while one CPU makes so many system calls, two each, 128 bytes
# each, and finds them all together: how fast the machine is does not matter.
at_once() { # count
	echo "kill -STOP \$PPID; taskset 1 dd if=/dev/zero of=/dev/null bs=1 count=$1; kill -CONT \$PPID"
}

# ---- past the page cache, and not ----

for mode in --threads --no-threads; do
	before=$(dirtied)
	# More than a buffer, and less than an eighth of the ring.
	record $mode -m 8M -e raw_syscalls:sys_enter -- sh -c "$(at_once 2400)"
	check "record, $mode" done_ ledger_is_exact '[ "$(counter samples)" -gt 4800 ]' \
		'[ "$(counter missing)" -eq 0 ]' '[ "$(counter lost)" -eq 0 ]' reads_all nothing_left
	check "it goes past the page cache, $mode" '[ "$(cached)" -lt 60 ]'
done
script
check_perf "perf reads it" done_ quiet as_many_as_written

# Megabytes to write.
before=$(dirtied)
record -m 8M -e raw_syscalls:sys_enter -- sh -c "$(at_once 10000)"
check "a recorder that is behind" done_ ledger_is_exact '[ "$(counter samples)" -gt 20000 ]' \
	'[ "$(counter missing)" -eq 0 ]' '[ "$(counter lost)" -eq 0 ]' reads_all
check "it does not wait for the disk" '[ "$(cached)" -gt 50 ]'

before=$(dirtied)
record -z -m 8M -e raw_syscalls:sys_enter -- $many
check "compressed, it goes as ever" done_ ledger_is_exact reads_all '[ "$(cached)" -gt 50 ]'

# ---- a session that is there: here the file's samples are counted ----

ktbctl attach raw_syscalls:sys_enter -s mine -m 8M >/dev/null
record -s mine -- $many
ktbctl detach -s mine >/dev/null
check "an attached session" done_ '[ "$(counter samples)" -gt 4000 ]' reads_all

# ---- several files ----

rm -f "$file"*
record --switch-output=1M -m 8M -e raw_syscalls:sys_enter -- sh -c 'for i in 1 2 3 4 5 6; do
	dd if=/dev/zero of=/dev/null bs=1 count=2000; usleep 300000; done'
check "--switch-output" done_ ledger_is_exact '[ "$(ls "$file".2* | wc -l)" -ge 2 ]' \
	'[ "$(for one in "$file".2*; do samples_in_file "$one"; done | awk "{ sum += \$1 } END { print sum }")" -eq "$(counter samples)" ]'
rm -f "$file"*

# ---- the end ----

# Of a process that ends: then nothing comes any more that could wake the recorder or
# fill its buffer. The last of its 1,000 calls and more has an argument that no other
# has, and the letters of which are looked for: in the file's order it need not be last.
mkfifo "$dir/go"
sh -c "read -r go <$dir/go; dd if=/dev/zero of=/dev/null bs=1 count=500; kill -0 $((0x6b7a4c51))" 2>/dev/null &
load=$!
ktbctl record --no-threads -e raw_syscalls:sys_enter -p $load -o "$file" >/dev/null 2>&1 &
recorder=$!
ran='ktbctl record, killed'
has_last() { strings "$file" | grep -q QLzk; }
# Seldom: of each process that looks the recorder hears, and that fills its buffer, too.
has_last_soon() {
	for second in $(seq $((10 * ${KTB_TIMEOUT_SCALE:-1}))); do
		sleep 1
		! has_last || return 0
	done
	return 1
}
wait_for 'ktbctl status | grep -q "reader: process $recorder"'
wait_for '! ktbctl status | grep -q disabled'
echo go >"$dir/go"
wait $load
check "what does not fill a buffer is in the file soon" has_last_soon
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
recorder=
check "and stays there when the recorder is killed" has_last nothing_left

# Less than two megabytes are left, with what is root's.
for mode in --threads --no-threads; do
	rm -f "$file"* "$dir/disk/rest"
	sync
	free=$(($(stat -f -c '%f * %S' "$dir/disk") / 65536))
	dd if=/dev/zero of="$dir/disk/rest" bs=64K count=$((free - 24)) conv=fsync 2>/dev/null
	record $mode -m 8M -e raw_syscalls:sys_enter -- $many
	check "a full disk, $mode" failed 'complains "No space left on device"' 'complains "can be read"' \
		'[ "$(counter missing)" -gt 0 ]' '[ "$(counter samples)" -gt 0 ]' nothing_left
	check "all that was written is in the file or said to be missing, $mode" ledger_is_exact \
		'[ "$(counter written)" -eq $(($(counter samples) + $(counter missing))) ]' reads_all
done
script
check_perf "perf reads it" done_ as_many_as_written

end_tests
