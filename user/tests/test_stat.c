// SPDX-License-Identifier: GPL-2.0-only
/* What a counter counted since the last time, scaled up where it had to share. */
#include <inttypes.h>

#include "stat_counter.h"
#include "tap.h"

static void counts(const struct stat_reading last, const struct stat_reading now, uint64_t expected,
		   const char *what)
{
	struct stat_value value = { .count = 3 };

	stat_value_add(&value, &last, &now);
	ok(value.count == 3 + expected, "%s: %" PRIu64, what, value.count - 3);
	ok(value.enabled - value.running == now.enabled - last.enabled - now.running + last.running,
	   "and the time it missed");
}

int main(void)
{
	const struct stat_reading none = { 0 };

	counts(none, (struct stat_reading){ 1000, 50, 50 }, 1000, "all of the time");
	counts(none, (struct stat_reading){ 1000, 50, 25 }, 2000, "half of it");
	counts(none, (struct stat_reading){ 0, 50, 0 }, 0, "none of it");
	counts((struct stat_reading){ 100, 100, 10 }, (struct stat_reading){ 190, 200, 100 }, 100,
	       "by the share since the last time");
	/* 100 in 10 of 100 ns would be 1,000 so far; 101 in 110 of 200 are not even 184. */
	counts((struct stat_reading){ 100, 100, 10 }, (struct stat_reading){ 101, 200, 110 }, 1,
	       "not less than nothing");
	counts((struct stat_reading){ 100, 100, 10 }, (struct stat_reading){ 100, 200, 10 }, 0,
	       "not counted meanwhile");
	return tap_end();
}
