// SPDX-License-Identifier: GPL-2.0-only
/*
 * What no tracer can do without: a probe on a tracepoint, as long as the module
 * is loaded. The parameter event names it: sys_enter, cpu_frequency or
 * sched_switch. The parameter work says what the probe does:
 *
 *	empty	return at once
 *	clock	store the bytes of ktrace_bridge's record, with the kernel's clock
 *	tsc	the same with the bare time stamp counter, in no unit
 *
 * clock and tsc have a buffer without end, no room to check, nobody to tell,
 * nothing that might nest, and count nothing: a floor, no tracer.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <asm/syscall.h>

#define SIZE	(1UL << 20)

static char *work = "empty";
module_param(work, charp, 0400);
MODULE_PARM_DESC(work, "empty, clock or tsc");

static char *event = "sys_enter";
module_param(event, charp, 0400);
MODULE_PARM_DESC(event, "sys_enter, cpu_frequency or sched_switch");

struct sample {
	struct perf_event_header header;
	u64 id;
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u32 cpu;
	u32 reserved;
	u64 period;
	u32 raw_size;
	struct trace_entry entry;
} __packed __aligned(4);

struct sys_enter {
	struct sample sample;
	unsigned long id;
	unsigned long args[6];
	u32 end;
} __packed __aligned(4);

struct cpu_frequency {
	struct sample sample;
	u32 state;
	u32 cpu_id;
	u32 end;
} __packed __aligned(4);

struct sched_switch {
	struct sample sample;
	char prev_comm[16];
	u32 prev_pid;
	u32 prev_prio;
	u64 prev_state;
	char next_comm[16];
	u32 next_pid;
	u32 next_prio;
	u32 end;
} __packed __aligned(4);

struct cpu_buffer {
	void *data;
	unsigned long head;
};

static DEFINE_PER_CPU(struct cpu_buffer, buffers);

static __always_inline void *fill(unsigned int size, u64 time, u16 type)
{
	struct cpu_buffer *buffer = this_cpu_ptr(&buffers);
	struct sample *sample = buffer->data + (buffer->head & (SIZE - 1));

	buffer->head += size;
	sample->header = (struct perf_event_header) {
		.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_KERNEL,
		.size = size,
	};
	sample->id = type;
	sample->ip = _RET_IP_;
	sample->pid = current->tgid;
	sample->tid = current->pid;
	sample->time = time;
	sample->cpu = raw_smp_processor_id();
	sample->reserved = 0;
	sample->period = 1;
	sample->raw_size = size - offsetofend(struct sample, raw_size);
	sample->entry.type = type;
	sample->entry.flags = irqs_disabled();
	sample->entry.preempt_count = preempt_count();
	sample->entry.pid = current->pid;
	return sample;
}

static __always_inline void sys_enter(struct pt_regs *regs, long id, u64 time)
{
	struct sys_enter *record = fill(sizeof(*record), time, 1);

	record->id = id;
	syscall_get_arguments(current, regs, record->args);
	record->end = 0;
}

static __always_inline void cpu_frequency(u32 state, u32 cpu_id, u64 time)
{
	struct cpu_frequency *record = fill(sizeof(*record), time, 2);

	record->state = state;
	record->cpu_id = cpu_id;
	record->end = 0;
}

static __always_inline void sched_switch(struct task_struct *prev, struct task_struct *next,
					 u64 time)
{
	struct sched_switch *record = fill(sizeof(*record), time, 3);

	memcpy(record->prev_comm, prev->comm, sizeof(record->prev_comm));
	record->prev_pid = prev->pid;
	record->prev_prio = prev->prio;
	record->prev_state = READ_ONCE(prev->__state);
	memcpy(record->next_comm, next->comm, sizeof(record->next_comm));
	record->next_pid = next->pid;
	record->next_prio = next->prio;
	record->end = 0;
}

static notrace void sys_enter_empty(void *data, struct pt_regs *regs, long id)
{
}

static notrace void sys_enter_clock(void *data, struct pt_regs *regs, long id)
{
	sys_enter(regs, id, ktime_get_mono_fast_ns());
}

static notrace void sys_enter_tsc(void *data, struct pt_regs *regs, long id)
{
	sys_enter(regs, id, get_cycles());
}

static notrace void cpu_frequency_empty(void *data, unsigned int state, unsigned int cpu_id)
{
}

static notrace void cpu_frequency_clock(void *data, unsigned int state, unsigned int cpu_id)
{
	cpu_frequency(state, cpu_id, ktime_get_mono_fast_ns());
}

static notrace void cpu_frequency_tsc(void *data, unsigned int state, unsigned int cpu_id)
{
	cpu_frequency(state, cpu_id, get_cycles());
}

static notrace void sched_switch_empty(void *data, bool preempt, struct task_struct *prev,
				       struct task_struct *next)
{
}

static notrace void sched_switch_clock(void *data, bool preempt, struct task_struct *prev,
				       struct task_struct *next)
{
	sched_switch(prev, next, ktime_get_mono_fast_ns());
}

static notrace void sched_switch_tsc(void *data, bool preempt, struct task_struct *prev,
				     struct task_struct *next)
{
	sched_switch(prev, next, get_cycles());
}

static const char * const works[] = { "empty", "clock", "tsc" };

static const struct point {
	const char *system;
	const char *name;
	void *probes[ARRAY_SIZE(works)];	/* one for each work */
} points[] = {
	{ "raw_syscalls", "sys_enter",
	  { sys_enter_empty, sys_enter_clock, sys_enter_tsc } },
	{ "power", "cpu_frequency",
	  { cpu_frequency_empty, cpu_frequency_clock, cpu_frequency_tsc } },
	{ "sched", "sched_switch",
	  { sched_switch_empty, sched_switch_clock, sched_switch_tsc } },
};

static struct tracepoint *tp;
static void *probe;

static int find(int what)
{
	struct trace_event_file *file;
	const struct point *point;

	for (point = points; point < points + ARRAY_SIZE(points); point++) {
		if (strcmp(point->name, event))
			continue;
		file = trace_get_event_file(NULL, point->system, point->name);
		if (IS_ERR(file))
			return PTR_ERR(file);
		tp = file->event_call->tp;
		trace_put_event_file(file);
		probe = point->probes[what];
		return 0;
	}
	return -ENOENT;
}

static void free_buffers(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(buffers, cpu).data);
}

static int __init ktb_floor_init(void)
{
	int cpu, what = match_string(works, ARRAY_SIZE(works), work);
	int err = what < 0 ? what : find(what);

	for_each_possible_cpu(cpu) {
		/* the last record runs over the end */
		per_cpu(buffers, cpu).data = vzalloc(SIZE + PAGE_SIZE);
		if (!per_cpu(buffers, cpu).data)
			err = -ENOMEM;
	}
	if (!err)
		err = tracepoint_probe_register(tp, probe, NULL);
	if (err)
		free_buffers();
	return err;
}

static void __exit ktb_floor_exit(void)
{
	tracepoint_probe_unregister(tp, probe, NULL);
	tracepoint_synchronize_unregister();
	free_buffers();
}

module_init(ktb_floor_init);
module_exit(ktb_floor_exit);

MODULE_DESCRIPTION("Probes that do the least possible, for ktrace_bridge's benchmarks");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
