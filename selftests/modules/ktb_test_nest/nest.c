// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fires bursts of one event from task, softirq, hardirq and NMI context on one
 * CPU, each inside of another, and counts what it fired.
 *
 * The event is power:wakeup_source_deactivate: its name is any string, its state any
 * number, and nothing else fires it in a machine that nobody wakes. The name says
 * which context fired it, as the how manieth, and how many each context had begun and
 * finished by then: that is what has to be found in the ring before and behind it. The
 * state is a checksum of the name.
 *
 *	burst N		N times in a task
 *	storm N		N bursts in a task, while a timer fires in hardirq context,
 *			sends the CPU an NMI that fires, and schedules a tasklet
 *			that fires; it does so N * STORM_TURNS times at most, however
 *			slow the machine
 *	step N		N times in a task, in single-step mode: the trap behind
 *			each instruction of the probe is an NMI context, and fires.
 *			Now and then it queues an interrupt, which comes before the
 *			next instruction, fires, and schedules a tasklet that fires
 *	stepsoft N	the same, stepping through the probe in the tasklet
 *	stepirq N	the same, stepping through the probe in the interrupt
 *	stepexit N	as step, but the interrupt fires at its end, when the kernel
 *			takes it for the task again
 *	step... N K	the same, but only the trap number K fires
 *	reset		begin to count anew
 *
 * On the CPU of who writes to run, which is to be pinned to it. Reading run
 * gives the numbers fired from task, softirq, hardirq, NMI, and the number of
 * traps in the last run.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/trace_events.h>
#include <asm/apic.h>
#include <asm/debugreg.h>
#include <asm/nmi.h>

enum nest_context { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

/* Longest name; the shortest is what the numbers take. */
#define NAME_MAX_LEN	250
#define STORM_TURNS	10

/* Only the CPU that runs touches these, in contexts that nest. */
static unsigned int nest_begun[CONTEXTS];
static unsigned int nest_done[CONTEXTS];

static DEFINE_MUTEX(nest_lock);		/* one run at a time */
static int nest_cpu = -1;		/* which it is on */
static bool nest_stepping;		/* traps are ours */
static unsigned int nest_steps;		/* traps in this run */
static int nest_at;			/* the only one that fires; -1: all do */
static enum nest_context nest_stepped;	/* where it steps */
static bool nest_at_exit;		/* interrupts fire at their end */
static unsigned int nest_turn;		/* of the timer */
static unsigned int nest_turns;		/* left to it in this run */
static struct tracepoint *nest_tp;
static struct hrtimer nest_timer;
static struct irq_work nest_irq;
static struct tasklet_struct nest_tasklet;

/* Every probe that hangs on the tracepoint, as the tracepoint itself calls them. */
static void nest_hit(const char *name, unsigned int state)
{
	int (*iterator)(void *data, const char *name, unsigned int state) = nest_tp->iterator;

	iterator(NULL, name, state);
}

static unsigned int nest_sum(const char *name)
{
	unsigned int sum = 2166136261U;

	while (*name)
		sum = (sum ^ (unsigned char)*name++) * 16777619U;
	return sum;
}

/*
 * With letters behind the numbers, so that each record is of another length. The
 * counts of the contexts that interrupt this one may grow meanwhile: they are bounds.
 */
static unsigned int nest_name(char *name, enum nest_context context, unsigned int seq)
{
	unsigned int len, end;

	len = scnprintf(name, NAME_MAX_LEN, "nest %u %u b %u %u %u %u d %u %u %u %u ",
			context, seq, READ_ONCE(nest_begun[TASK]), READ_ONCE(nest_begun[SOFTIRQ]),
			READ_ONCE(nest_begun[HARDIRQ]), READ_ONCE(nest_begun[NMI]),
			READ_ONCE(nest_done[TASK]), READ_ONCE(nest_done[SOFTIRQ]),
			READ_ONCE(nest_done[HARDIRQ]), READ_ONCE(nest_done[NMI]));
	end = min_t(unsigned int, len + seq * 7 % 97, NAME_MAX_LEN - 1);
	for (; len < end; len++)
		name[len] = 'a' + (seq + len) % 26;
	name[len] = '\0';
	return nest_sum(name);
}

static void nest_fire(enum nest_context context)
{
	char name[NAME_MAX_LEN];
	unsigned int seq, sum;

	preempt_disable_notrace();
	seq = nest_begun[context];
	WRITE_ONCE(nest_begun[context], seq + 1);
	barrier();
	sum = nest_name(name, context, seq);
	nest_hit(name, sum);
	barrier();
	WRITE_ONCE(nest_done[context], seq + 1);
	preempt_enable_notrace();
}

/*
 * Fire with a trap behind each instruction, from one behind the flag is set to
 * the one that clears it. What the name is made of is not stepped through.
 */
static void nest_fire_stepping(enum nest_context context)
{
	char name[NAME_MAX_LEN];
	unsigned int seq, sum;

	preempt_disable_notrace();
	seq = nest_begun[context];
	WRITE_ONCE(nest_begun[context], seq + 1);
	barrier();
	sum = nest_name(name, context, seq);
	nest_stepped = context;
	WRITE_ONCE(nest_stepping, true);
	asm volatile("pushf; orq %0, (%%rsp); popf" : : "i" (X86_EFLAGS_TF) : "memory", "cc");
	nest_hit(name, sum);
	asm volatile("pushf; andq %0, (%%rsp); popf" : : "i" (~X86_EFLAGS_TF) : "memory", "cc");
	WRITE_ONCE(nest_stepping, false);
	barrier();
	WRITE_ONCE(nest_done[context], seq + 1);
	preempt_enable_notrace();
}

/*
 * Every trap would let no cmpxchg loop come to its end: sixteen of them fire,
 * sixteen do not, each time other ones.
 */
static bool nest_trap_fires(void)
{
	if (nest_at >= 0)
		return nest_steps == nest_at;
	return (nest_begun[nest_stepped] * 5 + nest_steps) & 16;
}

/*
 * The kernel's clock is read again if a tick came meanwhile. With a trap behind each
 * instruction one comes each time, on a machine that is slow enough: that call is done
 * in the trap, and goes on where it would return to.
 */
static void nest_skip_clock(struct pt_regs *regs)
{
	if (regs->ip != (unsigned long)ktime_get_mono_fast_ns)
		return;
	regs->ax = ktime_get_mono_fast_ns();
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
}

/*
 * The trap, an NMI context. Interrupts stay off in it: what it queues comes when
 * it returns, before the next instruction of what is stepped through.
 */
static int nest_trap(struct notifier_block *nb, unsigned long action, void *data)
{
	struct die_args *args = data;
	unsigned long *dr6 = (unsigned long *)args->err;

	if (action != DIE_DEBUG || !READ_ONCE(nest_stepping) ||
	    raw_smp_processor_id() != nest_cpu || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;

	if (nest_trap_fires()) {
		nest_fire(NMI);
		if (nest_stepped != HARDIRQ && (nest_at >= 0 || nest_steps % 3 == 0))
			irq_work_queue(&nest_irq);
	}
	nest_steps++;
	nest_skip_clock(args->regs);
	*dr6 &= ~DR_STEP;
	return NOTIFY_STOP;
}

static struct notifier_block nest_die = {
	.notifier_call = nest_trap,
	.priority = INT_MAX,
};

/* As where the kernel wakes ksoftirqd. */
static void nest_fire_at_exit(void)
{
	__preempt_count_sub(HARDIRQ_OFFSET);
	nest_fire(HARDIRQ);
	__preempt_count_add(HARDIRQ_OFFSET);
}

static void nest_irq_fn(struct irq_work *work)
{
	if (nest_stepped == HARDIRQ) {
		nest_fire_stepping(HARDIRQ);
		return;
	}
	if (nest_at_exit)
		nest_fire_at_exit();
	else
		nest_fire(HARDIRQ);
	if (nest_stepped == TASK)
		tasklet_schedule(&nest_tasklet);
}

static void nest_tasklet_fn(struct tasklet_struct *tasklet)
{
	if (nest_stepped == SOFTIRQ)
		nest_fire_stepping(SOFTIRQ);
	else
		nest_fire(SOFTIRQ);
}

static int nest_nmi(unsigned int type, struct pt_regs *regs)
{
	if (raw_smp_processor_id() != READ_ONCE(nest_cpu))
		return NMI_DONE;
	nest_fire(NMI);
	return NMI_HANDLED;
}

static enum hrtimer_restart nest_timer_fn(struct hrtimer *timer)
{
	unsigned int turn = nest_turn++;

	if (!nest_turns)
		return HRTIMER_NORESTART;
	nest_turns--;
	for (unsigned int i = 0; i <= turn % 4; i++)
		nest_fire(HARDIRQ);
	if (turn % 2)
		apic->send_IPI(nest_cpu, NMI_VECTOR);
	tasklet_schedule(&nest_tasklet);
	nest_fire(HARDIRQ);
	hrtimer_forward_now(timer, ns_to_ktime(100000 + turn * 1009 % 300000));
	return HRTIMER_RESTART;
}

static void nest_storm(unsigned int bursts)
{
	nest_stepped = CONTEXTS;
	nest_turns = bursts * STORM_TURNS;
	hrtimer_start(&nest_timer, ns_to_ktime(20000), HRTIMER_MODE_REL_PINNED_HARD);
	while (bursts--) {
		for (unsigned int i = 0; i < 20; i++)
			nest_fire(TASK);
		cond_resched();
	}
	hrtimer_cancel(&nest_timer);
}

static void nest_burst(unsigned int times)
{
	while (times--)
		nest_fire(TASK);
}

static void nest_step(unsigned int times)
{
	nest_stepped = TASK;
	while (times--) {
		nest_fire_stepping(TASK);
		nest_fire(TASK);
		cond_resched();
	}
}

static void nest_step_exit(unsigned int times)
{
	nest_at_exit = true;
	nest_step(times);
	nest_at_exit = false;
}

static void nest_step_irq(unsigned int times)
{
	nest_stepped = HARDIRQ;
	while (times--) {
		irq_work_queue(&nest_irq);
		irq_work_sync(&nest_irq);
		nest_fire(TASK);
		cond_resched();
	}
}

static void nest_step_soft(unsigned int times)
{
	nest_stepped = SOFTIRQ;
	while (times--) {
		local_bh_disable();
		tasklet_schedule(&nest_tasklet);
		local_bh_enable();
		nest_fire(TASK);
		cond_resched();
	}
}

static void nest_reset(unsigned int unused)
{
	memset(nest_begun, 0, sizeof(nest_begun));
	memset(nest_done, 0, sizeof(nest_done));
}

static const struct {
	const char *name;
	void (*run)(unsigned int times);
} nest_runs[] = {
	{ "burst", nest_burst },
	{ "storm", nest_storm },
	{ "step", nest_step },
	{ "stepexit", nest_step_exit },
	{ "stepirq", nest_step_irq },
	{ "stepsoft", nest_step_soft },
	{ "reset", nest_reset },
};

static int nest_run_set(const char *text, const struct kernel_param *kp)
{
	unsigned int times = 0, i;
	int at = -1;
	char name[16];

	if (sscanf(text, "%15s %u %d", name, &times, &at) < 1)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(nest_runs); i++)
		if (!strcmp(name, nest_runs[i].name))
			break;
	if (i == ARRAY_SIZE(nest_runs))
		return -EINVAL;

	mutex_lock(&nest_lock);
	migrate_disable();
	WRITE_ONCE(nest_cpu, raw_smp_processor_id());
	nest_steps = 0;
	nest_at = at;
	nest_runs[i].run(times);
	/* What is still to come is part of the run. */
	irq_work_sync(&nest_irq);
	tasklet_kill(&nest_tasklet);
	WRITE_ONCE(nest_cpu, -1);
	migrate_enable();
	mutex_unlock(&nest_lock);
	return 0;
}

static int nest_run_get(char *buffer, const struct kernel_param *kp)
{
	return sprintf(buffer, "%u %u %u %u %u\n", nest_done[TASK], nest_done[SOFTIRQ],
		       nest_done[HARDIRQ], nest_done[NMI], nest_steps);
}

static const struct kernel_param_ops nest_run_ops = {
	.set = nest_run_set,
	.get = nest_run_get,
};

module_param_cb(run, &nest_run_ops, NULL, 0600);
MODULE_PARM_DESC(run, "what to fire, and how often; see the head of the source");

static int __init nest_find_tracepoint(void)
{
	struct trace_event_file *file;

	file = trace_get_event_file(NULL, "power", "wakeup_source_deactivate");
	if (IS_ERR(file))
		return PTR_ERR(file);
	nest_tp = file->event_call->tp;
	trace_put_event_file(file);
	return 0;
}

static int __init nest_init(void)
{
	int err = nest_find_tracepoint();

	if (err)
		return err;
	nest_irq = IRQ_WORK_INIT_HARD(nest_irq_fn);
	tasklet_setup(&nest_tasklet, nest_tasklet_fn);
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&nest_timer, nest_timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&nest_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	nest_timer.function = nest_timer_fn;
#endif
	err = register_nmi_handler(NMI_LOCAL, nest_nmi, 0, "ktb_test_nest");
	if (err)
		return err;
	err = register_die_notifier(&nest_die);
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "ktb_test_nest");
	return err;
}

static void __exit nest_exit(void)
{
	unregister_die_notifier(&nest_die);
	unregister_nmi_handler(NMI_LOCAL, "ktb_test_nest");
}

module_init(nest_init);
module_exit(nest_exit);
MODULE_DESCRIPTION("fires an event from contexts that nest, for selftests/nest");
MODULE_LICENSE("GPL");
