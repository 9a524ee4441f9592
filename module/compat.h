/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels the module is built for, in one place.
 * Each block says what changed and when. By feature where one can be probed,
 * by version where not; no version test stands in any other file.
 */
#ifndef _KTB_COMPAT_H
#define _KTB_COMPAT_H

#include <linux/bpf.h>
#include <linux/fprobe.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/trace_events.h>
#include <linux/version.h>
#include <net/genetlink.h>
#include <asm/local.h>

/* 6.5 gave local_t a try_cmpxchg. */
#ifndef local_try_cmpxchg
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static __always_inline bool ktb_local_try_cmpxchg(local_t *l, long *old, long new)
{
	long was = local_cmpxchg(l, *old, new);

	if (likely(was == *old))
		return true;
	*old = was;
	return false;
}

#define local_try_cmpxchg ktb_local_try_cmpxchg
#endif
#endif

/* 6.3 made vm_flags read-only to drivers and gave them accessors. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* 6.6 moved the attributes of a dump into a struct genl_info. */
static inline struct nlattr **ktb_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_info_dump(cb)->attrs;
#endif
}

/*
 * Until 6.13 every probe runs with preemption disabled; then those of system
 * calls became preemptible, and all of them before 7.0. trace/perf.h disables
 * it itself since, and so do we. Not with a guard: at the end of its block it would
 * still have something to do, and a probe could not jump to what ends it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define ktb_probe_begin()	preempt_disable_notrace()
#define ktb_probe_end()		preempt_enable_notrace()
#else
#define ktb_probe_begin()	do { } while (0)
#define ktb_probe_end()		do { } while (0)
#endif

/*
 * Lazy preemption: 6.1-rt has it with a count of its own in the common fields
 * of a record; 6.12-rt and 6.13 have a flag only.
 */
#ifdef TIF_NEED_RESCHED_LAZY
#define ktb_need_resched_lazy()	test_thread_flag(TIF_NEED_RESCHED_LAZY)
#define KTB_TRACE_FLAG_LAZY	TRACE_FLAG_NEED_RESCHED_LAZY
#else
#define ktb_need_resched_lazy()	false
#define KTB_TRACE_FLAG_LAZY	0
#endif

#ifdef preempt_lazy_count
#define ktb_lazy_count()			(preempt_lazy_count() & 0xff)
static __always_inline void ktb_entry_set_lazy_count(struct trace_entry *entry, u8 count)
{
	/* The last member, and the hole behind it. */
	memset_startat(entry, 0, preempt_lazy_count);
	entry->preempt_lazy_count = count;
}
#else
#define ktb_lazy_count()			0
#define ktb_entry_set_lazy_count(entry, count)	((void)(entry), (void)(count))
#endif

/*
 * 6.2 gave each task one perf context in place of one for each kind of PMU. Until then
 * a context belongs to the PMU that it was made for, as do those of the task's children,
 * and outlives that PMU's events: perf looks into the PMU when the task is switched to,
 * exits, gets another event, and in an RCU callback that frees the context. So none is to
 * be made for a PMU that may go: ktb_task_lacks_context() says that one would be.
 *
 * ktb_pmu_unregister_sync() waits for who has the PMU from its number, which perf forgets
 * after it waited, but has not looked at the module yet.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define ktb_task_perf_context(task)	((task)->perf_event_ctxp[perf_sw_context])

static inline bool ktb_task_lacks_context(const struct task_struct *task)
{
	return !READ_ONCE(ktb_task_perf_context(task));
}

static inline void ktb_pmu_unregister_sync(void)
{
	synchronize_rcu_tasks();
}
#else
#define ktb_task_perf_context(task)	((task)->perf_event_ctxp)

static inline bool ktb_task_lacks_context(const struct task_struct *task)
{
	return false;
}

static inline void ktb_pmu_unregister_sync(void)
{
}
#endif

/* 6.18 has 64 bits of flags for clone(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define KTB_NEWTASK_PROTO	struct task_struct *task, u64 clone_flags
#else
#define KTB_NEWTASK_PROTO	struct task_struct *task, unsigned long clone_flags
#endif

/*
 * Until 6.10 __assign_str() took the source a second time and copied it with
 * strcpy(): a string that grew after it was measured overran the record.
 * native_probe.h bounds the copy by what was reserved.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define KTB_ASSIGN_STR_TAKES_SOURCE
#endif

/*
 * Wait until every probe taken off, and all code that ran with preemption
 * disabled, is done. Expedited: a thousand events are detached in a second
 * instead of half a minute. From 6.13 on there are probes that may sleep, for
 * which only the kernel's own helper knows how to wait.
 */
static inline void ktb_synchronize_probes(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	tracepoint_synchronize_unregister();
#else
	synchronize_srcu_expedited(&tracepoint_srcu);
#endif
	synchronize_rcu_expedited();
}

/*
 * Exported, but declared in the kernel's own kernel/rcu/rcu.h alone: between the
 * two, grace periods that others wait for on our behalf are expedited as well.
 */
void rcu_expedite_gp(void);
void rcu_unexpedite_gp(void);

/* 6.16 tells sched_process_exit whether it is the last thread of its group. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define KTB_EXIT_PROTO		struct task_struct *task, bool group_dead
#else
#define KTB_EXIT_PROTO		struct task_struct *task
#endif

/*
 * 6.14 hung fprobe on the function graph tracer: its handlers take other
 * registers, and it needs no pool of calls.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define KTB_FPROBE_REGS		struct ftrace_regs
#define ktb_fprobe_return_value	ftrace_regs_get_return_value
static inline void ktb_fprobe_set_calls(struct fprobe *fprobe, int nr)
{
}
#else
#define KTB_FPROBE_REGS		struct pt_regs
#define ktb_fprobe_return_value	regs_return_value
static inline void ktb_fprobe_set_calls(struct fprobe *fprobe, int nr)
{
	fprobe->nr_maxactive = nr;
}
#endif

/* 6.9 moved the mark of a BPF program that may sleep. */
static inline bool ktb_program_sleeps(const struct bpf_prog *prog)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	return prog->aux->sleepable;
#else
	return prog->sleepable;
#endif
}

/* Since 6.13 a BPF program may have one stack for all its runs on a CPU. */
static inline bool ktb_program_has_own_stack(const struct bpf_prog *prog)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	return false;
#else
	return prog->aux->jits_use_priv_stack;
#endif
}

/* 6.3 lets a refusal have a number in it. */
#ifdef NL_SET_ERR_MSG_FMT
#define ktb_set_size_msg(extack, text, size)				\
	NL_SET_ERR_MSG_FMT(extack, text ", which has %u bytes", size)
#else
#define ktb_set_size_msg(extack, text, size)				\
do {									\
	(void)(size);							\
	NL_SET_ERR_MSG(extack, text);					\
} while (0)
#endif

/*
 * In 6.1, unlike 6.12, one event looks into a structure that mm/ keeps to
 * itself, another calls cper_mem_err_pack(), which is not exported.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KTB_OMIT_mm_compaction_migratepages 1
#define KTB_OMIT_extlog_mem_event 1
#endif

#endif /* _KTB_COMPAT_H */
