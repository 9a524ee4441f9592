# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034,SC2154 # variables are for who includes this, and its own
#
# What the tests of the tools share: running commands, checking what they did, the
# closing line of a recording. Included by busybox's sh in the guest, in the directory
# of the tests, which has set $dir, another one for what is made.

here=$PWD module=/ktb/ktrace_bridge.ko
out=$dir/out err=$dir/err file=$dir/perf.data
shown="$out $err" # when a check fails
number=0 failures=0 skipped=0 status=0

# Run a command; its exit status and output are for the checks that follow.
run() {
	ran=$*
	timeout $((60 * ${KTB_TIMEOUT_SCALE:-1})) "$@" >"$out" 2>"$err" </dev/null
	status=$?
}

explain() {
	echo "# $ran"
	echo "# exit status $status"
	for said in $shown; do
		[ ! -e "$said" ] || sed "s,^,# ${said##*/}: ," "$said" | head -n 20
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

skip() { # name reason
	number=$((number + 1)) skipped=$((skipped + 1))
	echo "ok $number $1 # SKIP $2"
}

# The same, of what perf says.
check_perf() {
	if [ "$perf" ]; then
		check "$@"
	else
		skip "$1" "${no_perf:-no perf here}"
	fi
}

done_() { [ "$status" -eq 0 ]; }
failed() { [ "$status" -eq 1 ]; }
usage() { [ "$status" -eq 2 ]; }
says() { grep -q -e "$1" "$out"; }
complains() { grep -q -e "$1" "$err"; }
quiet() { [ ! -s "$err" ]; }
is_json() { "$here/json_check" <"$out" >/dev/null; }

# The closing line of --json, and a counter in it, summed up over all events.
closing() { grep '"type":"end"' "$dir/closing"; }
counter() { closing | grep -o "\"$1\":[0-9]*" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

ledger_is_exact() {
	[ "$(counter hits)" -gt 0 ] && [ "$(counter hits)" -eq $(($(counter written) + $(counter filtered) + $(counter not_sampled) +
		$(counter lost_full) + $(counter lost_big) + $(counter lost_recursion))) ]
}

# Record, and keep the closing line.
record() {
	run ktbctl record --json -o "$file" "$@"
	cp "$err" "$dir/closing"
}

# What perf script prints of the file, and how many samples that is.
script() { run perf script -i "$file"; }
as_many_as_written() { [ -s "$out" ] && [ "$(wc -l <"$out")" -eq "$(counter samples)" ]; }

# Of the samples that have the last event's name, those that lack a field.
all_have() { ! grep " $1:" "$out" | grep -v -q -e "$2"; }

nothing_left() { [ "$(ktbctl --json status | tr -d ' \n')" = '{"sessions":[]}' ]; }

# Wait for something to come true, 10 seconds at most, or as many as the limits grew.
wait_for() {
	tries=$((200 * ${KTB_TIMEOUT_SCALE:-1}))
	until eval "$1"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		usleep 50000
	done
}

# Once it is included: what is needed is there, and the module loaded.
begin_tests() { # number
	echo TAP version 13
	command -v ktbctl >/dev/null || {
		echo '1..0 # SKIP no ktbctl on PATH'
		exit 4
	}
	perf=$(command -v perf)
	echo "1..$1"
	[ -d /sys/module/ktrace_bridge ] || insmod "$module"
	cd "$dir" || exit 1
}

end_tests() {
	echo "# Totals: pass:$((number - failures - skipped)) fail:$failures skip:$skipped"
	[ $failures -eq 0 ]
}
