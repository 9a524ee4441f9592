// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of kernel functions, at their begin: a ftrace_ops with a filter. The
 * record is that of ftrace:function. Process context, under ktb_lock, but for
 * the hit itself.
 */

#include <linux/ftrace.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_recursion.h>

#include <ktb_denied.h>

#include "function.h"
#include "session.h"
#include "submit.h"

/* The id of ftrace:function, TRACE_FN of the kernel's enum trace_type. */
#define KTB_TYPE_FUNCTION	1

/* The record, struct ftrace_entry of the kernel. */
struct ktb_function_entry {
	struct trace_entry ent;
	unsigned long ip;
	unsigned long parent_ip;
};

#define KTB_DENY_RETURN(f)	{ #f, "function: " #f " never returns", true },
#define KTB_DENY(f)		{ #f, "function: " #f " is called while a hit is recorded" },

static const struct {
	const char *name;
	const char *why;
	bool returns_only;
} ktb_denied[] = {
	KTB_NEVER_RETURNS(KTB_DENY_RETURN)
	KTB_RECORDS_HITS(KTB_DENY)
};

/**
 * struct ktb_function - the hook of an event
 * @ops: with the filter
 * @event: whose
 */
struct ktb_function {
	struct ftrace_ops ops;
	struct ktb_event *event;
};

static __always_inline void ktb_function_fill(struct ktb_hit hit, unsigned long ip,
					      unsigned long parent_ip)
{
	struct ktb_function_entry *entry = hit.entry;

	hit.sample->ip = ip;
	entry->ip = ip;
	entry->parent_ip = parent_ip;
	ktb_event_end(hit);
}

/* What is not the usual case, out of line: that one needs no stack then. */
static noinline notrace void ktb_function_slow(struct ktb_event *event, unsigned long ip,
					       unsigned long parent_ip)
{
	struct ktb_hit hit;

	if (!ktb_event_admit(event, 1))
		return;
	/* What the stack has of the function is the end of its call to ftrace. */
	hit = ktb_event_begin_slow(event, sizeof(struct ktb_function_entry),
				   ip + MCOUNT_INSN_SIZE, NULL);
	if (hit.sample)
		ktb_function_fill(hit, ip, parent_ip);
}

static __always_inline void ktb_function_record(struct ktb_event *event,
						unsigned long ip,
						unsigned long parent_ip)
{
	struct ktb_hit hit;

	if (ktb_event_begin(event, ktb_event_mode(event),
			    sizeof(struct ktb_function_entry), &hit))
		ktb_function_fill(hit, ip, parent_ip);
	else
		ktb_function_slow(event, ip, parent_ip);
}

/*
 * Any context, wherever a function may be called: what this calls may be
 * traced, and comes back here; then ftrace's own guard ends it.
 */
static notrace void ktb_function_hit(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ktb_function *function = container_of(ops, struct ktb_function, ops);
	int bit = ftrace_test_recursion_trylock(ip, parent_ip);

	if (bit < 0) {
		ktb_event_recursed(function->event);
		return;
	}
	ktb_function_record(function->event, ip, parent_ip);
	ftrace_test_recursion_unlock(bit);
}

/**
 * ktb_function_check - whether functions may be traced
 * @options: which, globs too
 * @extack: takes the reason of a refusal
 *
 * Return: 0, or -EINVAL if one of them is denied by name.
 */
int ktb_function_check(const struct ktb_function_options *options,
		       struct netlink_ext_ack *extack)
{
	unsigned int i, j;

	for (i = 0; i < options->nr; i++) {
		for (j = 0; j < ARRAY_SIZE(ktb_denied); j++) {
			if (strcmp(options->names[i], ktb_denied[j].name) ||
			    (ktb_denied[j].returns_only && !options->graph))
				continue;
			extack->_msg = ktb_denied[j].why;
			return -EINVAL;
		}
	}
	return 0;
}

/* ftrace writes to the string it is given. */
static int ktb_function_add(struct ftrace_ops *ops, const char *name)
{
	bool out = name[0] == '!';
	char *glob = kstrdup(name + out, GFP_KERNEL);
	int err;

	if (!glob)
		return -ENOMEM;
	if (out)
		err = ftrace_set_notrace(ops, glob, strlen(glob), 0);
	else
		err = ftrace_set_filter(ops, glob, strlen(glob), 0);
	kfree(glob);
	return err;
}

static int ktb_function_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	int err = register_ftrace_function(&event->function->ops);

	if (err)
		NL_SET_ERR_MSG(extack, "function: ftrace refused the hook");
	return err;
}

/* Waits until no function is in the hook any more. */
static void ktb_function_detach(struct ktb_event *event)
{
	unregister_ftrace_function(&event->function->ops);
}

static void ktb_function_destroy(struct ktb_event *event)
{
	ftrace_free_filter(&event->function->ops);
	kfree(event->function);
}

static const struct ktb_source ktb_function_source = {
	.path		= KTB_PATH_FUNCTION,
	.attach		= ktb_function_attach,
	.detach		= ktb_function_detach,
	.destroy	= ktb_function_destroy,
};

/**
 * ktb_function_prepare - let an event's hits be calls of functions
 * @event: the event
 * @options: which functions
 * @extack: takes the reason of a refusal
 *
 * Sets the event's source; nothing fires yet.
 *
 * Return: 0, or
 * * -EINVAL - a glob without a function that can be traced, or one that is denied
 * * -ENOMEM - out of memory
 */
int ktb_function_prepare(struct ktb_event *event,
			 const struct ktb_function_options *options,
			 struct netlink_ext_ack *extack)
{
	struct ktb_function *function;
	unsigned int i;
	int err = ktb_function_check(options, extack);

	if (err)
		return err;
	function = kzalloc(sizeof(*function), GFP_KERNEL_ACCOUNT);
	if (!function) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return -ENOMEM;
	}
	function->ops.func = ktb_function_hit;
	function->event = event;
	for (i = 0; i < options->nr && !err; i++)
		err = ktb_function_add(&function->ops, options->names[i]);
	if (err) {
		if (err == -ENOMEM)
			NL_SET_ERR_MSG(extack, "out of memory");
		else
			NL_SET_ERR_MSG(extack, "function: no function of this name can be traced");
		ftrace_free_filter(&function->ops);
		kfree(function);
		return err;
	}
	event->function = function;
	event->type = KTB_TYPE_FUNCTION;
	event->source = &ktb_function_source;
	return 0;
}
