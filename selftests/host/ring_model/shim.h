/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What module/ring.[ch] and submit.[ch] use of the kernel, in user space, so that
 * the very code can be run by the model. Before each access that another context
 * or the reader may see, model_yield() may let those run.
 */
#ifndef SHIM_H
#define SHIM_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <linux/perf_event.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

void model_yield(void);
void *model_map(unsigned long nr_pages);
unsigned int model_level(void);
unsigned int model_preempt_count(void);
u64 model_clock(void);

#define __user
#define __percpu
#define __init
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define ____cacheline_aligned	__attribute__((aligned(64)))
#define __packed		__attribute__((packed))
#define __aligned(n)		__attribute__((aligned(n)))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define BIT(n)			(1UL << (n))
#define ALIGN(n, to)		(((n) + (to) - 1) & ~((to) - 1))
#define U16_MAX			65535
#define HZ			250
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define IS_ENABLED(CONFIG_option) 0
#define _RET_IP_		0UL
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))

/*
 * Barriers. A is a control dependency, which C does not know: loads acquire, so
 * that ThreadSanitizer sees what the processor orders.
 */
#define barrier()		model_yield()
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define data_race(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define READ_ONCE(x)		({ model_yield(); __atomic_load_n(&(x), __ATOMIC_ACQUIRE); })
#define WRITE_ONCE(x, v)	({ model_yield(); __atomic_store_n(&(x), v, __ATOMIC_RELAXED); })
#define smp_load_acquire(p)	({ model_yield(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define smp_store_release(p, v)	({ model_yield(); __atomic_store_n(p, v, __ATOMIC_RELEASE); })

/* Atomic for what nests on the CPU: one instruction each. */
typedef struct { long v; } local_t;

#define local_read(l)		({ model_yield(); __atomic_load_n(&(l)->v, __ATOMIC_RELAXED); })
#define local_set(l, n)		({ model_yield(); __atomic_store_n(&(l)->v, n, __ATOMIC_RELAXED); })
#define local_add(n, l)		({ \
	model_yield(); \
	__atomic_fetch_add(&(l)->v, n, __ATOMIC_RELAXED); \
})
#define local_inc(l)		((void)local_add(1, l))
#define local_inc_return(l)	(local_add(1, l) + 1)
#define local_xchg(l, n)	({ \
	model_yield(); \
	__atomic_exchange_n(&(l)->v, n, __ATOMIC_RELAXED); \
})

static inline bool local_try_cmpxchg(local_t *l, unsigned long *old, long new)
{
	model_yield();
	return __atomic_compare_exchange_n(&l->v, (long *)old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* Contexts, tasks and time. */
#define PREEMPT_MASK		0x000000ffU
#define SOFTIRQ_MASK		0x0000ff00U
#define HARDIRQ_MASK		0x000f0000U
#define NMI_MASK		0x00f00000U
#define SOFTIRQ_SHIFT		8
#define SOFTIRQ_OFFSET		0x100U
#define preempt_count()		model_preempt_count()
#define softirq_count()		0U
#define interrupt_context_level() model_level()
#define irqs_disabled()		0
#define tif_need_resched()	0
#define test_preempt_need_resched() 0
#define ktb_need_resched_lazy()	false
#define ktb_lazy_count()	0
#define ktb_entry_set_lazy_count(entry, count) ((void)(entry), (void)(count))
#define raw_smp_processor_id()	0
#define this_cpu_ptr(p)		(p)

/* In place of clock.h: both ways to the time are taken, by turns. */
#define _KTB_CLOCK_H
#define ktb_clock()		model_clock()
#define ktb_clock_read(ns)	(*(ns) = model_clock(), *(ns) % 8 != 0)

enum { TRACE_FLAG_IRQS_OFF = 1, TRACE_FLAG_NEED_RESCHED = 4, TRACE_FLAG_HARDIRQ = 8,
	TRACE_FLAG_SOFTIRQ = 16, TRACE_FLAG_PREEMPT_RESCHED = 32, TRACE_FLAG_NMI = 64,
	TRACE_FLAG_BH_OFF = 128, KTB_TRACE_FLAG_LAZY = 0 };

struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

struct pid;
struct task {
	int pid;
	int tgid;
	int migration_disabled;
	struct pid *thread_pid;
};

static struct task model_task;

#define current			(&model_task)
#define test_bit(nr, bits)	((void)(bits), (nr) % 2 == 0)
#define task_pid(task)		((task)->thread_pid)

typedef struct { int unused; } cpumask_t;
struct pt_regs { int unused; };
struct perf_event;

/* In place of program.h: no event has a program. */
#define _KTB_PROGRAM_H
#define PERF_MAX_TRACE_SIZE	64
#define ktb_aside_get()		((struct ktb_aside *)NULL)
#define ktb_aside_put(aside)	((void)(aside))
#define ktb_program_run(event, context) ((void)(context), 1)
#define perf_arch_fetch_caller_regs(regs, ip) ((void)(regs))

#define cpumask_test_cpu(cpu, mask) ((void)(mask), true)
#define user_mode(regs)		((void)(regs), false)
#define instruction_pointer(regs) ((void)(regs), 0UL)
#define preempt_disable_notrace() do { } while (0)
#define preempt_enable_notrace() do { } while (0)

/* What wakes a reader. */
struct irq_work {
	void (*fn)(struct irq_work *work);
	bool pending;
};

typedef struct { int unused; } wait_queue_head_t;
typedef struct { long v; } atomic_long_t;
struct mutex { int unused; };
struct list_head { struct list_head *next, *prev; };

#define init_irq_work(w, f)	((w)->fn = (f))
#define irq_work_queue(w)	((w)->pending = true)
#define irq_work_sync(w)	((void)(w))
#define init_waitqueue_head(w)	((void)(w))
#define wake_up_poll(w, events)	((void)(w))
#define atomic_long_inc(a)	((void)__atomic_fetch_add(&(a)->v, 1, __ATOMIC_RELAXED))
#define mutex_init(m)		((void)(m))
#define mutex_lock_interruptible(m) ((void)(m), 0)
#define mutex_unlock(m)		((void)(m))

/* Memory. */
struct page;
struct vm_area_struct { unsigned long vm_flags; };

#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NORETRY		0
#define __GFP_NOWARN		0
#define __GFP_ZERO		0
#define VM_MAP			0
#define VM_USERMAP		0
#define VM_MAYSHARE		1
#define VM_EXEC			2
#define VM_WRITE		4
#define VM_MAYEXEC		8
#define VM_MAYWRITE		16
#define PAGE_KERNEL		0
#define ERESTARTSYS		512
#define ERR_PTR(error)		((void *)(long)(error))
#define kzalloc_node(size, gfp, node) ((void)(node), aligned_alloc_zeroed(size))
#define kvmalloc_array(n, size, gfp) calloc(n, size)
#define kvfree(p)		free(p)
#define kfree(p)		free(p)
#define alloc_pages_node(node, gfp, order) ((void)(node), (struct page *)1)
#define put_page(p)		((void)(p))
#define vmap(pages, nr, flags, prot) model_map(nr)
#define vunmap(p)		((void)(p))
#define cpu_to_node(cpu)	0
#define cond_resched()		do { } while (0)
#define fatal_signal_pending(task) false
#define vma_pages(vma)		((void)(vma), 0UL)
#define vm_flags_clear(vma, flags) ((vma)->vm_flags &= ~(flags))
#define remap_vmalloc_range(vma, base, pgoff) 0
#define kcsan_disable_current() do { } while (0)
#define kcsan_enable_current() do { } while (0)
#define copy_to_user(to, from, n) (memcpy(to, from, n), 0)

static inline void *aligned_alloc_zeroed(size_t size)
{
	size_t whole = ALIGN(size, 64UL);

	return memset(aligned_alloc(64, whole), 0, whole);
}

/* Stands in for module/compat.h. */
#define _KTB_COMPAT_H

#endif
