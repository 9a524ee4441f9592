// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops in the kernel, without system calls between the turns. Two parameters;
 * a number written is that many turns:
 *
 *	probe56	call the probes of raw_syscalls:sys_enter, as the tracepoint would: a
 *		system call number and six arguments, 56 bytes
 *	probe8	hit power:cpu_frequency, two numbers, 8 bytes
 *
 * Both are tracepoints of the kernel that every tracer knows.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/task_stack.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <trace/events/power.h>

static struct tracepoint *sys_enter;

/*
 * sys_enter is not exported: what its trace_sys_enter() would do is done by
 * hand, with indirect calls where that one's are patched in.
 */
static noinline void hit56(struct pt_regs *regs, long id)
{
	struct tracepoint_func *func;

	preempt_disable_notrace();
	func = rcu_dereference_raw(sys_enter->funcs);
	for (; func && func->func; func++)
		((void (*)(void *, struct pt_regs *, long))func->func)(func->data, regs, id);
	preempt_enable_notrace();
}

static int probe56_set(const char *value, const struct kernel_param *param)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned int turns;
	int err = kstrtouint(value, 0, &turns);

	while (!err && turns--)
		hit56(regs, turns & 0xff);
	return err;
}

static int probe8_set(const char *value, const struct kernel_param *param)
{
	unsigned int turns;
	int err = kstrtouint(value, 0, &turns);

	while (!err && turns--)
		trace_cpu_frequency(turns, 0);
	return err;
}

static const struct kernel_param_ops probe56_ops = {
	.set = probe56_set,
};

static const struct kernel_param_ops probe8_ops = {
	.set = probe8_set,
};

module_param_cb(probe56, &probe56_ops, NULL, 0200);
MODULE_PARM_DESC(probe56, "so many calls of the probes of raw_syscalls:sys_enter");
module_param_cb(probe8, &probe8_ops, NULL, 0200);
MODULE_PARM_DESC(probe8, "so many hits of power:cpu_frequency");

static int __init ktb_loop_init(void)
{
	struct trace_event_file *file;

	file = trace_get_event_file(NULL, "raw_syscalls", "sys_enter");
	if (IS_ERR(file))
		return PTR_ERR(file);
	sys_enter = file->event_call->tp;
	trace_put_event_file(file);
	return 0;
}

static void __exit ktb_loop_exit(void)
{
}

module_init(ktb_loop_init);
module_exit(ktb_loop_exit);

MODULE_DESCRIPTION("Loops in the kernel that hit tracepoints, for ktrace_bridge's benchmarks");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
