// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops in the kernel, without system calls between the turns. Parameters; a
 * number written is that many turns:
 *
 *	probe56	call the probes of raw_syscalls:sys_enter, as the tracepoint would for
 *		a getppid(): a system call number and six arguments, 56 bytes
 *	probe8	hit power:cpu_frequency, two numbers, 8 bytes
 *	text	call the probes of printk:console with a text of text_length bytes
 *
 * All are tracepoints of the kernel that every tracer knows. Some are not exported:
 * what their trace_...() would do is done by hand, with indirect calls where that
 * one's are patched in.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/task_stack.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/unistd.h>
#include <trace/events/power.h>

static struct tracepoint *sys_enter, *console;

static char text[4096];

static unsigned int text_length;
module_param(text_length, uint, 0600);
MODULE_PARM_DESC(text_length, "bytes of the text, 4096 at most");

static noinline void hit56(struct pt_regs *regs, long id)
{
	struct tracepoint_func *func;

	preempt_disable_notrace();
	func = rcu_dereference_raw(sys_enter->funcs);
	for (; func && func->func; func++)
		((void (*)(void *, struct pt_regs *, long))func->func)(func->data, regs, id);
	preempt_enable_notrace();
}

static noinline void hit_text(size_t length)
{
	struct tracepoint_func *func;

	preempt_disable_notrace();
	func = rcu_dereference_raw(console->funcs);
	for (; func && func->func; func++)
		((void (*)(void *, const char *, size_t))func->func)(func->data, text, length);
	preempt_enable_notrace();
}

static int probe56_set(const char *value, const struct kernel_param *param)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned int turns;
	int err = kstrtouint(value, 0, &turns);

	while (!err && turns--)
		hit56(regs, __NR_getppid);
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

static int text_set(const char *value, const struct kernel_param *param)
{
	size_t length = min_t(size_t, text_length, sizeof(text));
	unsigned int turns;
	int err = kstrtouint(value, 0, &turns);

	while (!err && turns--)
		hit_text(length);
	return err;
}

static const struct kernel_param_ops probe56_ops = {
	.set = probe56_set,
};

static const struct kernel_param_ops probe8_ops = {
	.set = probe8_set,
};

static const struct kernel_param_ops text_ops = {
	.set = text_set,
};

module_param_cb(probe56, &probe56_ops, NULL, 0200);
MODULE_PARM_DESC(probe56, "so many calls of the probes of raw_syscalls:sys_enter");
module_param_cb(probe8, &probe8_ops, NULL, 0200);
MODULE_PARM_DESC(probe8, "so many hits of power:cpu_frequency");
module_param_cb(text, &text_ops, NULL, 0200);
MODULE_PARM_DESC(text, "so many calls of the probes of printk:console");

static struct tracepoint *find(const char *system, const char *name)
{
	struct trace_event_file *file = trace_get_event_file(NULL, system, name);
	struct tracepoint *tp;

	if (IS_ERR(file))
		return ERR_CAST(file);
	tp = file->event_call->tp;
	trace_put_event_file(file);
	return tp;
}

static int __init ktb_loop_init(void)
{
	sys_enter = find("raw_syscalls", "sys_enter");
	console = find("printk", "console");
	memset(text, 'x', sizeof(text));
	if (IS_ERR(sys_enter))
		return PTR_ERR(sys_enter);
	return PTR_ERR_OR_ZERO(console);
}

static void __exit ktb_loop_exit(void)
{
}

module_init(ktb_loop_init);
module_exit(ktb_loop_exit);

MODULE_DESCRIPTION("Loops in the kernel that hit tracepoints, for ktrace_bridge's benchmarks");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
