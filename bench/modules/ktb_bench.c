// SPDX-License-Identifier: GPL-2.0-only
/*
 * An empty probe on raw_syscalls:sys_enter: what any tracer pays before it does
 * anything. It is there as long as the module is loaded.
 */

#include <linux/module.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

static struct tracepoint *sys_enter;

static notrace void empty_probe(void *data, struct pt_regs *regs, long id)
{
}

static int __init ktb_bench_init(void)
{
	struct trace_event_file *file;

	file = trace_get_event_file(NULL, "raw_syscalls", "sys_enter");
	if (IS_ERR(file))
		return PTR_ERR(file);
	sys_enter = file->event_call->tp;
	trace_put_event_file(file);
	return tracepoint_probe_register(sys_enter, empty_probe, NULL);
}

static void __exit ktb_bench_exit(void)
{
	tracepoint_probe_unregister(sys_enter, empty_probe, NULL);
	tracepoint_synchronize_unregister();
}

module_init(ktb_bench_init);
module_exit(ktb_bench_exit);

MODULE_DESCRIPTION("An empty probe, for comparison");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
