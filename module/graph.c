// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of kernel functions, at their return: with depth and times, the record
 * of ftrace:funcgraph_exit. Through fprobe, or where the kernel has none (6.1),
 * one kretprobe per function. Process context, under ktb_lock, but for the
 * hits.
 */

#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "function.h"
#include "session.h"
#include "submit.h"
#include "tracepoint.h"

/* The id of ftrace:funcgraph_exit, TRACE_GRAPH_RET of enum trace_type. */
#define KTB_TYPE_GRAPH		10

/* Calls that can be under way at once, in all tasks, for each function. */
#define KTB_GRAPH_CALLS		512

/* The record, struct ftrace_graph_ret_entry of the kernel, packed like that one. */
struct ktb_graph_entry {
	struct trace_entry ent;
	unsigned long func;
#ifdef CONFIG_FUNCTION_GRAPH_RETVAL
	unsigned long retval;
#endif
	int depth;
	unsigned int overrun;
	u64 calltime;
	u64 rettime;
} __packed;

/**
 * struct ktb_graph_call - a call under way
 * @time: when it began
 * @depth: calls of the same task around it
 * @event: whose it is. From 6.14 on a call that began under an event may end under
 *	another that has its place in memory
 */
struct ktb_graph_call {
	u64 time;
	unsigned int depth;
	u32 event;
};

/**
 * struct ktb_graph_return - how it ended
 * @func: the function
 * @ip: where it comes back to
 * @value: what it returns
 */
struct ktb_graph_return {
	unsigned long func;
	unsigned long ip;
	unsigned long value;
};

#ifndef CONFIG_FPROBE
struct ktb_graph_probe {
	struct kretprobe kretprobe;
	struct ktb_graph *graph;
};
#endif

/**
 * struct ktb_graph - the hooks of an event
 * @event: whose
 * @depth: by thread number, the calls under way; behind them by CPU, for the
 *	idle tasks, which share the number 0
 * @newtask: the tracepoint that says that a number is given to a new thread
 * @nr: number of functions
 * @names: theirs
 * @fprobe: hook on all of them
 * @probe: or one on each
 * @hooked: these, as the kernel wants them to let go of all at once
 */
struct ktb_graph {
	struct ktb_event *event;
	u8 *depth;
	struct tracepoint *newtask;
	unsigned int nr;
	const char **names;
#ifdef CONFIG_FPROBE
	struct fprobe fprobe;
#else
	struct ktb_graph_probe *probe;
	struct kretprobe **hooked;
#endif
};

static __always_inline u8 *ktb_graph_depth(struct ktb_graph *graph)
{
	if (likely(current->pid))
		return &graph->depth[current->pid];
	return &graph->depth[PID_MAX_LIMIT + raw_smp_processor_id()];
}

/*
 * Both run wherever the function may be called, with preemption disabled and
 * guarded against recursion by who calls them. An interrupt's calls come back
 * before the interrupted ones: the count needs no more than to be kept.
 */

/* False for a call that is turned away: its return is not waited for, which takes room. */
static __always_inline bool ktb_graph_begin(struct ktb_graph *graph,
					    struct ktb_graph_call *call)
{
	unsigned int mode = ktb_event_mode(graph->event);
	u8 *depth;

	if (unlikely(mode) && ktb_event_turn_away(graph->event, mode))
		return false;
	depth = ktb_graph_depth(graph);
	call->depth = READ_ONCE(*depth);
	WRITE_ONCE(*depth, call->depth + 1);
	call->event = graph->event->id;
	call->time = ktb_clock();
	return true;
}

static __always_inline void ktb_graph_fill(struct ktb_hit hit,
					   const struct ktb_graph_call *call,
					   struct ktb_graph_return ret)
{
	struct ktb_graph_entry *entry = hit.entry;

	hit.sample->ip = ret.func;
	entry->func = ret.func;
#ifdef CONFIG_FUNCTION_GRAPH_RETVAL
	entry->retval = ret.value;
#endif
	entry->depth = call->depth;
	entry->overrun = 0;
	entry->calltime = call->time;
	entry->rettime = hit.sample->time;
	ktb_event_end(hit);
}

/* What is not the usual case, out of line: that one needs no stack then. */
static noinline notrace void ktb_graph_slow(struct ktb_event *event,
					    const struct ktb_graph_call *call,
					    struct ktb_graph_return ret)
{
	struct ktb_hit hit;

	if (!ktb_event_admit(event, 1))
		return;
	/* The callchain begins where the call comes back to. */
	hit = ktb_event_begin_slow(event, sizeof(struct ktb_graph_entry), ret.ip, NULL);
	if (hit.sample)
		ktb_graph_fill(hit, call, ret);
}

static __always_inline void ktb_graph_end(struct ktb_graph *graph,
					  const struct ktb_graph_call *call,
					  struct ktb_graph_return ret)
{
	struct ktb_hit hit;

	if (unlikely(call->event != (u32)graph->event->id))
		return;
	WRITE_ONCE(*ktb_graph_depth(graph), call->depth);
	if (ktb_event_begin(graph->event, ktb_event_mode(graph->event),
			    sizeof(struct ktb_graph_entry), &hit))
		ktb_graph_fill(hit, call, ret);
	else
		ktb_graph_slow(graph->event, call, ret);
}

/* A thread may have ended inside a traced function: its number begins anew. */
static notrace void ktb_graph_newtask(void *data, KTB_NEWTASK_PROTO)
{
	struct ktb_graph *graph = data;

	WRITE_ONCE(graph->depth[task->pid], 0);
}

#ifdef CONFIG_FPROBE
static notrace int ktb_graph_entry_handler(struct fprobe *fprobe, unsigned long ip,
					   unsigned long ret_ip, KTB_FPROBE_REGS *regs,
					   void *data)
{
	struct ktb_graph *graph = container_of(fprobe, struct ktb_graph, fprobe);
	bool begun;

	preempt_disable_notrace();
	begun = ktb_graph_begin(graph, data);
	preempt_enable_notrace();
	return !begun;
}

static notrace void ktb_graph_exit_handler(struct fprobe *fprobe, unsigned long ip,
					   unsigned long ret_ip, KTB_FPROBE_REGS *regs,
					   void *data)
{
	struct ktb_graph *graph = container_of(fprobe, struct ktb_graph, fprobe);
	const struct ktb_graph_return ret = { ip, ret_ip, ktb_fprobe_return_value(regs) };

	preempt_disable_notrace();
	ktb_graph_end(graph, data, ret);
	preempt_enable_notrace();
}

static int ktb_graph_hook(struct ktb_graph *graph)
{
	graph->fprobe = (struct fprobe) {
		.entry_handler		= ktb_graph_entry_handler,
		.exit_handler		= ktb_graph_exit_handler,
		.entry_data_size	= sizeof(struct ktb_graph_call),
	};
	ktb_fprobe_set_calls(&graph->fprobe, KTB_GRAPH_CALLS);
	return register_fprobe_syms(&graph->fprobe, graph->names, graph->nr);
}

static void ktb_graph_unhook(struct ktb_graph *graph)
{
	unregister_fprobe(&graph->fprobe);
}

static unsigned long ktb_graph_missed(const struct ktb_event *event)
{
	return event->graph->fprobe.nmissed;
}
#else
static notrace int ktb_graph_entry_handler(struct kretprobe_instance *instance,
					   struct pt_regs *regs)
{
	struct kretprobe *kretprobe = get_kretprobe(instance);

	if (!kretprobe)
		return 1;
	return !ktb_graph_begin(container_of(kretprobe, struct ktb_graph_probe, kretprobe)->graph,
				(void *)instance->data);
}
NOKPROBE_SYMBOL(ktb_graph_entry_handler);

static notrace int ktb_graph_exit_handler(struct kretprobe_instance *instance,
					  struct pt_regs *regs)
{
	struct kretprobe *kretprobe = get_kretprobe(instance);

	if (!kretprobe)
		return 0;
	ktb_graph_end(container_of(kretprobe, struct ktb_graph_probe, kretprobe)->graph,
		      (void *)instance->data,
		      (struct ktb_graph_return) {
			      .func = (unsigned long)kretprobe->kp.addr,
			      .ip = get_kretprobe_retaddr(instance),
			      .value = regs_return_value(regs),
		      });
	return 0;
}
NOKPROBE_SYMBOL(ktb_graph_exit_handler);

/* Waits until no function is in any of them any more, once for all. */
static void ktb_graph_unhook_first(struct ktb_graph *graph, unsigned int nr)
{
	unregister_kretprobes(graph->hooked, nr);
}

/* Our own functions are no more for kretprobes than for ftrace. */
static int ktb_graph_register(struct kretprobe *kretprobe)
{
	int err;

	kretprobe->kp.flags = KPROBE_FLAG_DISABLED;
	err = register_kretprobe(kretprobe);
	if (err)
		return err;
	if (within_module((unsigned long)kretprobe->kp.addr, THIS_MODULE))
		err = -EINVAL;
	else
		err = enable_kretprobe(kretprobe);
	if (err)
		unregister_kretprobe(kretprobe);
	return err;
}

static int ktb_graph_hook(struct ktb_graph *graph)
{
	unsigned int i;
	int err;

	graph->probe = kvcalloc(graph->nr, sizeof(*graph->probe), GFP_KERNEL_ACCOUNT);
	graph->hooked = kvcalloc(graph->nr, sizeof(*graph->hooked), GFP_KERNEL_ACCOUNT);
	if (!graph->probe || !graph->hooked)
		return -ENOMEM;
	for (i = 0; i < graph->nr; i++) {
		graph->hooked[i] = &graph->probe[i].kretprobe;
		graph->probe[i].graph = graph;
		graph->probe[i].kretprobe = (struct kretprobe) {
			.kp.symbol_name	= graph->names[i],
			.entry_handler	= ktb_graph_entry_handler,
			.handler	= ktb_graph_exit_handler,
			.data_size	= sizeof(struct ktb_graph_call),
			.maxactive	= KTB_GRAPH_CALLS,
		};
		err = ktb_graph_register(&graph->probe[i].kretprobe);
		if (err) {
			ktb_graph_unhook_first(graph, i);
			return err;
		}
	}
	return 0;
}

static void ktb_graph_unhook(struct ktb_graph *graph)
{
	ktb_graph_unhook_first(graph, graph->nr);
}

static unsigned long ktb_graph_missed(const struct ktb_event *event)
{
	const struct ktb_graph *graph = event->graph;
	unsigned long missed = 0;
	unsigned int i;

	for (i = 0; graph->probe && i < graph->nr; i++)
		missed += graph->probe[i].kretprobe.nmissed +
			  graph->probe[i].kretprobe.kp.nmissed;
	return missed;
}
#endif

static int ktb_graph_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	struct ktb_graph *graph = event->graph;
	int err = tracepoint_probe_register(graph->newtask, ktb_graph_newtask, graph);

	if (err) {
		NL_SET_ERR_MSG(extack, "the kernel refused the probe that follows new tasks");
		return err;
	}
	err = ktb_graph_hook(graph);
	if (!err)
		return 0;
	tracepoint_probe_unregister(graph->newtask, ktb_graph_newtask, graph);
	ktb_tracepoint_sync();
	if (err == -ENOMEM)
		NL_SET_ERR_MSG(extack, "out of memory");
	else
		NL_SET_ERR_MSG(extack, "function: the return of one of them cannot be traced");
	return err;
}

static void ktb_graph_detach(struct ktb_event *event)
{
	ktb_graph_unhook(event->graph);
	tracepoint_probe_unregister(event->graph->newtask, ktb_graph_newtask,
				    event->graph);
}

static void ktb_graph_free(struct ktb_graph *graph)
{
	unsigned int i;

	for (i = 0; graph->names && i < graph->nr; i++)
		kfree(graph->names[i]);
	kvfree(graph->names);
#ifndef CONFIG_FPROBE
	kvfree(graph->hooked);
	kvfree(graph->probe);
#endif
	vfree(graph->depth);
	kfree(graph);
}

static void ktb_graph_destroy(struct ktb_event *event)
{
	ktb_graph_free(event->graph);
}

static const struct ktb_source ktb_graph_source = {
	.path		= KTB_PATH_FUNCTION,
	.attach		= ktb_graph_attach,
	.detach		= ktb_graph_detach,
	.missed		= ktb_graph_missed,
	.destroy	= ktb_graph_destroy,
};

static int ktb_graph_copy_names(struct ktb_graph *graph,
				const struct ktb_function_options *options)
{
	graph->names = kvcalloc(options->nr, sizeof(*graph->names), GFP_KERNEL_ACCOUNT);
	if (!graph->names)
		return -ENOMEM;
	for (graph->nr = 0; graph->nr < options->nr; graph->nr++) {
		graph->names[graph->nr] = kstrdup(options->names[graph->nr],
						  GFP_KERNEL_ACCOUNT);
		if (!graph->names[graph->nr])
			return -ENOMEM;
	}
	return 0;
}

static struct ktb_graph *ktb_graph_alloc(struct ktb_event *event,
					 const struct ktb_function_options *options)
{
	struct ktb_graph *graph = kzalloc(sizeof(*graph), GFP_KERNEL_ACCOUNT);

	if (!graph)
		return NULL;
	graph->event = event;
	graph->depth = __vmalloc(PID_MAX_LIMIT + nr_cpu_ids,
				 GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!graph->depth || ktb_graph_copy_names(graph, options)) {
		ktb_graph_free(graph);
		return NULL;
	}
	return graph;
}

/**
 * ktb_graph_prepare - let an event's hits be returns of functions
 * @event: the event
 * @options: which functions, by plain name
 * @extack: takes the reason of a refusal
 *
 * Sets the event's source; nothing fires yet.
 *
 * Return: 0, or
 * * -EINVAL - one of them is denied
 * * -ENOENT - the kernel cannot say when threads are made
 * * -ENOMEM - out of memory
 */
int ktb_graph_prepare(struct ktb_event *event,
		      const struct ktb_function_options *options,
		      struct netlink_ext_ack *extack)
{
	int err = ktb_function_check(options, extack);
	struct ktb_graph *graph;
	u16 type;

	if (err)
		return err;
	graph = ktb_graph_alloc(event, options);
	if (!graph) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return -ENOMEM;
	}
	if (ktb_tracepoint_find("task:task_newtask", &graph->newtask, &type)) {
		NL_SET_ERR_MSG(extack, "graph: this kernel has no task:task_newtask");
		ktb_graph_free(graph);
		return -ENOENT;
	}
	event->graph = graph;
	event->type = KTB_TYPE_GRAPH;
	event->source = &ktb_graph_source;
	return 0;
}
