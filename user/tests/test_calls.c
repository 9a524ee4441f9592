// SPDX-License-Identifier: GPL-2.0-only
/* Calls that come at their returns, put out as they began. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "tap.h"

static char out[1024];
static int put_err;

/* One letter a call: "a" a leaf, "a{" a begin, "}a" an end; "@" and the time behind. */
static int put(void *arg, const struct ktb_sample *sample, const struct ktb_graph_call *call,
	       enum ktb_graph_part part)
{
	size_t len = strlen(out);

	snprintf(out + len, sizeof(out) - len, "%s%s%c%s@%d", len ? " " : "",
		 part == KTB_GRAPH_END ? "}" : "", (int)call->func,
		 part == KTB_GRAPH_BEGIN ? "{" : "", (int)sample->time);
	return arg ? put_err : -EINVAL;
}

static struct calls calls;

static int returns(uint64_t event, uint32_t tid, uint32_t cpu, char func, unsigned int depth,
		   uint64_t start, uint64_t end)
{
	const struct ktb_sample sample = {
		.type = PERF_RECORD_SAMPLE, .id = event, .tid = tid, .cpu = cpu, .time = end
	};
	const struct ktb_graph_call call = { func, depth, start, end };

	return calls_add(&calls, &sample, &call);
}

static void begin(void)
{
	calls_free(&calls);
	calls = (struct calls){ .put = put, .arg = &calls };
	out[0] = 0;
	put_err = 0;
}

static void is(const char *expected, const char *name)
{
	if (!ok(!strcmp(out, expected), "%s", name))
		printf("# '%s', not '%s'\n", out, expected);
}

static void test_order(void)
{
	begin();
	returns(1, 7, 0, 'a', 0, 10, 20);
	is("a@20", "a call alone is put out at once");
	ok(!calls_held(&calls), "and nothing is held");

	begin();
	returns(1, 7, 0, 'c', 2, 12, 13);
	returns(1, 7, 0, 'b', 1, 11, 14);
	returns(1, 7, 0, 'd', 1, 15, 16);
	is("", "inner ones are held");
	ok(calls_held(&calls), "and known to be");
	returns(1, 7, 1, 'a', 0, 10, 20);
	is("a{@10 b{@11 c@13 }b@14 d@16 }a@20", "until the outermost returns");
	ok(!calls_held(&calls), "then nothing is held");

	begin();
	returns(1, 7, 0, 'b', 1, 10, 10);
	returns(1, 7, 0, 'a', 0, 10, 10);
	is("a{@10 b@10 }a@10", "in no time at all");
}

static void test_apart(void)
{
	begin();
	returns(1, 7, 0, 'b', 1, 11, 12);
	returns(1, 8, 1, 'x', 1, 11, 13);
	returns(2, 7, 0, 'y', 0, 11, 14);
	returns(1, 8, 1, 'w', 0, 10, 15);
	returns(1, 7, 0, 'a', 0, 10, 16);
	is("y@14 w{@10 x@13 }w@15 a{@10 b@12 }a@16", "threads and events are apart");

	begin();
	returns(1, 0, 0, 'b', 1, 11, 12);
	returns(1, 0, 1, 'd', 1, 11, 13);
	returns(1, 0, 1, 'c', 0, 10, 14);
	returns(1, 0, 0, 'a', 0, 10, 15);
	is("c{@10 d@13 }c@14 a{@10 b@12 }a@15", "idle threads are apart by CPU");
}

static void test_incomplete(void)
{
	begin();
	returns(1, 7, 0, 'c', 2, 12, 13);
	returns(1, 7, 0, 'd', 1, 20, 21);
	returns(1, 7, 0, 'a', 0, 19, 30);
	is("c@13 a{@19 d@21 }a@30", "what is around a call may be lost");

	begin();
	returns(1, 7, 0, 'b', 1, 11, 12);
	returns(1, 8, 0, 'y', 1, 11, 22);
	calls_flush(&calls, 20);
	is("b@12", "what does not end is not held for ever");
	calls_flush(&calls, UINT64_MAX);
	is("b@12 y@22", "nor over the end");

	begin();
	for (int i = 0; i < 4095; i++)
		returns(1, 7, 0, 'b', 1, 2 * i, 2 * i + 1);
	is("", "many are held");
	returns(1, 7, 0, 'b', 1, 10000, 10001);
	ok(strlen(out) > 500 && !calls_held(&calls), "but not any number");
}

static void test_errors(void)
{
	begin();
	put_err = -EPIPE;
	ok(returns(1, 7, 0, 'a', 0, 1, 2) == -EPIPE, "an error is passed on");
	ok(!returns(1, 7, 0, 'b', 1, 1, 2) && returns(1, 7, 0, 'a', 0, 1, 2) == -EPIPE,
	   "from within too");
	is("a@2 a{@1", "and ends it");
}

int main(void)
{
	test_order();
	test_apart();
	test_incomplete();
	test_errors();
	calls_free(&calls);
	return tap_end();
}
