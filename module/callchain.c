// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callchains: how the kernel, and the program that called it, came to where an
 * event hit. Mirrors get_perf_callchain(), which is not exported.
 *
 * Each CPU has one buffer per context, so that contexts that nest in each other
 * do not meet. What hits while a callchain of the same context is being walked,
 * a page fault on the user's stack for one, is recorded without one.
 */

#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include "callchain.h"
#include "session.h"

#ifdef CONFIG_X86
#include <asm/unwind.h>
#endif

#define KTB_NR_CONTEXTS	4

struct ktb_callchain_buffer {
	u64 nr;
	u64 ip[KTB_STACK_MAX + 2];	/* two markers */
};

struct ktb_callchain_cpu {
	u8 busy;	/* contexts, one bit each */
	struct ktb_callchain_buffer context[KTB_NR_CONTEXTS];
};

static struct ktb_callchain_cpu __percpu *ktb_callchain_cpu;
static unsigned int ktb_callchain_users;	/* ktb_lock */

static const struct ktb_callchain ktb_callchain_none;

/**
 * ktb_callchain_get_buffers - be ready to take callchains
 *
 * Under ktb_lock, as is its counterpart.
 *
 * Return: 0, or -ENOMEM.
 */
int ktb_callchain_get_buffers(void)
{
	lockdep_assert_held(&ktb_lock);
	if (!ktb_callchain_users) {
		ktb_callchain_cpu = alloc_percpu_gfp(struct ktb_callchain_cpu,
						     GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ktb_callchain_cpu)
			return -ENOMEM;
	}
	ktb_callchain_users++;
	return 0;
}

/**
 * ktb_callchain_put_buffers - one user of callchains less
 *
 * Its events are detached, and their last probe has returned.
 */
void ktb_callchain_put_buffers(void)
{
	lockdep_assert_held(&ktb_lock);
	if (--ktb_callchain_users)
		return;
	free_percpu(ktb_callchain_cpu);
	ktb_callchain_cpu = NULL;
}

#ifdef CONFIG_X86
/*
 * The registers that the unwinder goes by, as they were where the event hit: those
 * of an interrupted context, or what the frame of a function called from there tells.
 * NULL if there are none: then the walk goes through our own functions first, which
 * is most of the work, as each is looked up among those of all modules.
 */
static struct pt_regs *ktb_callchain_regs(const struct ktb_place *place,
					  struct pt_regs *caller)
{
	const unsigned long *frame = place->frame;

	/* What perf makes up for a tracepoint is not enough to begin from. */
	if (place->regs)
		return place->regs->flags & X86_EFLAGS_FIXED ? place->regs : NULL;
	if (!frame || frame[1] != place->ip)
		return NULL;
	*caller = (struct pt_regs) {
		.ip	= place->ip,
		.bp	= frame[0],
		.sp	= (unsigned long)(frame + 2),
		.cs	= __KERNEL_CS,
		.flags	= X86_EFLAGS_FIXED,
	};
	return caller;
}

/* The callers, from the one at the place on. */
static unsigned int ktb_callchain_walk(u64 *ips, unsigned int max,
				       const struct ktb_place *place)
{
	struct pt_regs caller, *regs = ktb_callchain_regs(place, &caller);
	struct unwind_state state;
	unsigned int nr = 0;
	unsigned long addr;
	bool met = regs;

	unwind_start(&state, current, regs, regs ? NULL : __builtin_frame_address(0));
	for (; nr < max && !unwind_done(&state); unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (!addr)
			break;
		if (met)
			ips[nr++] = addr;
		else
			met = addr == place->ip;
	}
	return nr;
}
#else
static_assert(sizeof(unsigned long) == sizeof(u64));

static unsigned int ktb_callchain_walk(u64 *ips, unsigned int max,
				       const struct ktb_place *place)
{
	unsigned int nr = stack_trace_save((unsigned long *)ips, max, 0);
	unsigned int i;

	/* What lies inwards of the event is ours, or an interrupt's entry. */
	for (i = 0; i < nr; i++)
		if (ips[i] == place->ip)
			break;
	if (i == nr)
		return 0;
	memmove(ips, ips + i + 1, (nr - i - 1) * sizeof(*ips));
	return nr - i - 1;
}
#endif

static unsigned int ktb_callchain_kernel(u64 *ips, unsigned int max,
					 const struct ktb_place *place)
{
	if (!max)
		return 0;
	ips[0] = place->ip;
	return 1 + ktb_callchain_walk(ips + 1, max - 1, place);
}

/* A frame of a program that was built with frame pointers. */
struct ktb_user_frame {
	unsigned long next;
	unsigned long ret;
};

struct ktb_user_frame32 {
	u32 next;
	u32 ret;
};

static bool ktb_user_is_32bit(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return !user_64bit_mode(regs);
#else
	return false;
#endif
}

/*
 * Whether the address space of @regs is the one that is loaded: certainly where it
 * was interrupted; elsewhere, as in the middle of a switch, the kernel is asked, once.
 */
static bool ktb_user_is_there(unsigned long fp, bool interrupted)
{
	char byte;

	return interrupted || !copy_from_user_nofault(&byte, (void __user *)fp, sizeof(byte));
}

/* Page faults are disabled: a page that is not there ends the chain. */
static bool ktb_user_frame_read(struct ktb_user_frame *frame, unsigned long fp)
{
	const struct ktb_user_frame __user *at = (void __user *)fp;

	return access_ok(at, sizeof(*at)) &&
	       !__get_user(frame->next, &at->next) && !__get_user(frame->ret, &at->ret);
}

static bool ktb_user_frame32_read(struct ktb_user_frame *frame, unsigned long fp)
{
	const struct ktb_user_frame32 __user *at = (void __user *)fp;
	u32 next, ret;

	if (!access_ok(at, sizeof(*at)) || __get_user(next, &at->next) ||
	    __get_user(ret, &at->ret))
		return false;
	*frame = (struct ktb_user_frame) { next, ret };
	return true;
}

/* Any context. @interrupted: what the event interrupted is the program. */
static unsigned int ktb_callchain_user(u64 *ips, unsigned int max,
				       struct pt_regs *regs, bool interrupted)
{
	bool is_32bit = ktb_user_is_32bit(regs);
	unsigned long fp = frame_pointer(regs);
	struct ktb_user_frame frame;
	unsigned int nr = 0;

	if (!max)
		return 0;
	ips[nr++] = instruction_pointer(regs);
	if (!ktb_user_is_there(fp, interrupted))
		return nr;
	pagefault_disable();
	while (nr < max && (is_32bit ? ktb_user_frame32_read(&frame, fp) :
				       ktb_user_frame_read(&frame, fp))) {
		ips[nr++] = frame.ret;
		fp = frame.next;
	}
	pagefault_enable();
	return nr;
}

/* The registers with which the current task left its program, if it has one. */
static struct pt_regs *ktb_user_regs(struct pt_regs *regs)
{
	if (regs && user_mode(regs))
		return regs;
	if (!current->mm || current->flags & PF_KTHREAD)
		return NULL;
	regs = task_pt_regs(current);
	return user_mode(regs) ? regs : NULL;
}

static void ktb_callchain_fill(struct ktb_callchain_buffer *buffer,
			       unsigned int max, const struct ktb_place *place)
{
	struct pt_regs *user = ktb_user_regs(place->regs);
	unsigned int nr = 0, frames = 0;

	if (!place->regs || !user_mode(place->regs)) {
		buffer->ip[nr++] = PERF_CONTEXT_KERNEL;
		frames = ktb_callchain_kernel(buffer->ip + nr, max, place);
		nr += frames;
	}
	if (user) {
		buffer->ip[nr++] = PERF_CONTEXT_USER;
		nr += ktb_callchain_user(buffer->ip + nr, max - frames, user,
					 user == place->regs);
	}
	buffer->nr = nr;
}

/**
 * ktb_callchain_begin - take the callchain of the current context
 * @max_stack: most frames, at most KTB_STACK_MAX
 * @place: where the event hit
 *
 * Any context, preemption disabled until ktb_callchain_end().
 *
 * Return: the callchain, an empty one if it is taken inside another of the same
 * context.
 */
const struct ktb_callchain *ktb_callchain_begin(unsigned int max_stack,
						const struct ktb_place *place)
{
	struct ktb_callchain_cpu *cpu = this_cpu_ptr(ktb_callchain_cpu);
	unsigned int context = interrupt_context_level();
	struct ktb_callchain_buffer *buffer = &cpu->context[context];

	if (cpu->busy & BIT(context))
		return &ktb_callchain_none;
	cpu->busy |= BIT(context);
	barrier();
	ktb_callchain_fill(buffer, max_stack, place);
	return (const struct ktb_callchain *)buffer;
}

/**
 * ktb_callchain_end - the callchain is not needed any more
 * @chain: from ktb_callchain_begin(), in the same context
 */
void ktb_callchain_end(const struct ktb_callchain *chain)
{
	if (chain == &ktb_callchain_none)
		return;
	barrier();
	this_cpu_ptr(ktb_callchain_cpu)->busy &= ~BIT(interrupt_context_level());
}
