// SPDX-License-Identifier: GPL-2.0-only
/* What a request asks an event to be attached with. Process context. */

#include <linux/perf_event.h>
#include <linux/slab.h>

#include "compat.h"
#include "netlink.h"
#include "session.h"

static int ktb_nl_add_target(u32 *list, unsigned int *nr, const struct nlattr *attr,
			     struct netlink_ext_ack *extack)
{
	if (!nla_get_u32(attr)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "pid, tid: must not be 0");
		return -EINVAL;
	}
	if (*nr == KTB_TARGETS_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the limit is 64 processes and 64 threads per event");
		return -EINVAL;
	}
	list[(*nr)++] = nla_get_u32(attr);
	return 0;
}

/* The policy has checked each of the attributes. */
static int ktb_nl_target_options(struct genl_info *info,
				 struct ktb_target_options *target)
{
	const struct nlattr *attr;
	int left, err = 0;

	nla_for_each_attr(attr, genlmsg_data(info->genlhdr),
			  genlmsg_len(info->genlhdr), left) {
		if (nla_type(attr) == KTB_A_EVENT_PID)
			err = ktb_nl_add_target(target->pids, &target->nr_pids,
						attr, info->extack);
		else if (nla_type(attr) == KTB_A_EVENT_TID)
			err = ktb_nl_add_target(target->tids, &target->nr_tids,
						attr, info->extack);
		if (err)
			return err;
	}
	target->inherit = nla_get_flag(info->attrs[KTB_A_EVENT_INHERIT]);
	if (target->inherit && !target->nr_pids && !target->nr_tids) {
		GENL_SET_ERR_MSG(info, "inherit: needs a pid or tid");
		return -EINVAL;
	}
	return 0;
}

/*
 * perf's own rule: a shorter one, of an older program, ends in zeroes, and so
 * has to end a longer one.
 */
static int ktb_nl_perf_attr(const struct nlattr *nla, struct perf_event_attr *attr,
			    struct netlink_ext_ack *extack)
{
	const int size = nla_len(nla);

	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE) {
		NL_SET_ERR_MSG_ATTR(extack, nla, "perf-attr: not a struct perf_event_attr");
		return -EINVAL;
	}
	if (size > sizeof(*attr) &&
	    memchr_inv(nla_data(nla) + sizeof(*attr), 0, size - sizeof(*attr))) {
		NL_SET_ERR_MSG_ATTR(extack, nla,
				    "perf-attr: asks for what this kernel does not know");
		return -E2BIG;
	}
	memset(attr, 0, sizeof(*attr));
	memcpy(attr, nla_data(nla), min_t(size_t, size, sizeof(*attr)));
	attr->size = sizeof(*attr);
	return 0;
}

/* The names are those of the message. */
static int ktb_nl_function_options(struct genl_info *info,
				   struct ktb_function_options *function)
{
	const struct nlattr *attr;
	int left;

	nla_for_each_attr(attr, genlmsg_data(info->genlhdr),
			  genlmsg_len(info->genlhdr), left) {
		if (nla_type(attr) != KTB_A_EVENT_FUNCTION)
			continue;
		if (function->nr == KTB_FUNCTIONS_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "function: the limit is 1024 names or globs per event");
			return -EINVAL;
		}
		/* What may come several times, the policy does not look at for its end. */
		if (strnlen(nla_data(attr), nla_len(attr)) == nla_len(attr)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "function: must end in a NUL");
			return -EINVAL;
		}
		if (!function->names)
			function->names = kvcalloc(KTB_FUNCTIONS_MAX, sizeof(*function->names),
						   GFP_KERNEL);
		if (!function->names) {
			GENL_SET_ERR_MSG(info, "out of memory");
			return -ENOMEM;
		}
		function->names[function->nr++] = nla_data(attr);
	}
	function->graph = nla_get_flag(info->attrs[KTB_A_EVENT_GRAPH]);
	if (function->graph && !function->nr) {
		GENL_SET_ERR_MSG(info, "graph: needs a function");
		return -EINVAL;
	}
	if (function->nr && info->attrs[KTB_A_EVENT_PERF_ATTR]) {
		GENL_SET_ERR_MSG(info, "perf-attr: not for functions");
		return -EINVAL;
	}
	return 0;
}

static int ktb_nl_program_options(struct genl_info *info,
				  struct ktb_program_options *program)
{
	const struct nlattr *fd = info->attrs[KTB_A_EVENT_PROGRAM];
	struct nlattr *text = info->attrs[KTB_A_EVENT_PROGRAM_TEXT];

	if (text && !fd) {
		NL_SET_ERR_MSG_ATTR(info->extack, text, "program-text: needs a program");
		return -EINVAL;
	}
	program->given = fd;
	program->fd = fd ? nla_get_s32(fd) : -1;
	program->text = ktb_nl_string(text);
	return 0;
}

/**
 * ktb_nl_event_options - what an event is asked to be attached with
 * @info: the request; the options point into it
 * @options: set, also on failure: the caller frees its function.names
 * @attr: where @options->attr may point to
 *
 * Return: 0, or
 * * -EINVAL - something is missing, or not what it has to be
 * * -E2BIG - a struct perf_event_attr that asks for what this kernel does not know
 * * -ENOMEM - out of memory
 */
int ktb_nl_event_options(struct genl_info *info, struct ktb_event_options *options,
			 struct perf_event_attr *attr)
{
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr **attrs = info->attrs;
	struct nlattr *enabled = attrs[KTB_A_EVENT_ENABLED];
	int err;

	*options = (struct ktb_event_options) {
		.name	= ktb_nl_string(attrs[KTB_A_EVENT_NAME]),
		.cpus	= ktb_nl_string(attrs[KTB_A_EVENT_CPUS]),
		.cgroup	= ktb_nl_string(attrs[KTB_A_EVENT_CGROUP]),
		.period	= 1,
	};
	if (!options->name) {
		NL_SET_ERR_MSG(extack, "name: missing, give system:event");
		return -EINVAL;
	}
	if (enabled && nla_get_u8(enabled) > 1) {
		NL_SET_ERR_MSG_ATTR(extack, enabled, "enabled: must be 0 or 1");
		return -EINVAL;
	}
	options->disabled = enabled && !nla_get_u8(enabled);
	if (attrs[KTB_A_EVENT_PERIOD])
		options->period = nla_get_u64(attrs[KTB_A_EVENT_PERIOD]);
	if (attrs[KTB_A_EVENT_PERF_ATTR]) {
		options->attr = attr;
		err = ktb_nl_perf_attr(attrs[KTB_A_EVENT_PERF_ATTR], attr, extack);
		if (err)
			return err;
	}
	return ktb_nl_target_options(info, &options->target) ?:
	       ktb_nl_program_options(info, &options->program) ?:
	       ktb_nl_function_options(info, &options->function);
}
