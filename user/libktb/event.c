// SPDX-License-Identifier: LGPL-2.1-only
/* Events of a session over the control connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ROOM 4096 /* for all else of a request */

struct event_list {
	struct ktb_event_info *all;
	unsigned int nr;
};

static void parse_ledger_attr(const struct nlattr *attr, struct ktb_ledger *ledger)
{
	uint64_t value = ktb_attr_uint(attr);

	switch (nla_type(attr)) {
	case KTB_A_LEDGER_CPU:
		ledger->cpu = (int32_t)value;
		break;
	case KTB_A_LEDGER_HITS:
		ledger->hits = value;
		break;
	case KTB_A_LEDGER_WRITTEN:
		ledger->written = value;
		break;
	case KTB_A_LEDGER_FILTERED:
		ledger->filtered = value;
		break;
	case KTB_A_LEDGER_NOT_SAMPLED:
		ledger->not_sampled = value;
		break;
	case KTB_A_LEDGER_LOST_FULL:
		ledger->lost_full = value;
		break;
	case KTB_A_LEDGER_LOST_BIG:
		ledger->lost_big = value;
		break;
	case KTB_A_LEDGER_LOST_RECURSION:
		ledger->lost_recursion = value;
		break;
	case KTB_A_LEDGER_COUNT:
		ledger->count = value;
		break;
	case KTB_A_LEDGER_THROTTLED:
		ledger->throttled = value;
		break;
	}
}

static void parse_ledger(struct nlattr *nest, struct ktb_ledger *ledger)
{
	struct nlattr *attr;
	int left;

	ledger->cpu = -1;
	nla_for_each_nested(attr, nest, left)
		parse_ledger_attr(attr, ledger);
}

static int parse_cpu_ledger(struct nlattr *nest, struct ktb_event_info *event)
{
	struct ktb_ledger *all;

	all = ktb_array_more(event->cpu_ledgers, event->nr_cpu_ledgers, sizeof(*all));
	if (!all)
		return -ENOMEM;
	event->cpu_ledgers = all;
	parse_ledger(nest, &all[event->nr_cpu_ledgers++]);
	return 0;
}

static int parse_target(const struct nlattr *attr, uint32_t **all, unsigned int *nr)
{
	uint32_t *more = ktb_array_more(*all, *nr, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*all = more;
	more[(*nr)++] = ktb_attr_uint(attr);
	return 0;
}

static int parse_text(const struct nlattr *attr, char **text)
{
	free(*text);
	*text = strndup(nla_data(attr), nla_len(attr));
	return *text ? 0 : -ENOMEM;
}

/* The kernel's may be longer or shorter than ours. */
static void parse_perf_attr(const struct nlattr *attr, struct ktb_event_info *event)
{
	size_t len = nla_len(attr);

	if (len > sizeof(event->attr))
		len = sizeof(event->attr);
	memcpy(&event->attr, nla_data(attr), len);
	event->attr.size = sizeof(event->attr);
}

static int parse_attr(struct nlattr *attr, struct ktb_event_info *event)
{
	switch (nla_type(attr)) {
	case KTB_A_EVENT_SESSION_ID:
		event->session = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_ID:
		event->id = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_NAME:
		ktb_attr_text(attr, event->name, sizeof(event->name));
		break;
	case KTB_A_EVENT_TYPE:
		event->type = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_PATH:
		event->path = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_ENABLED:
		event->enabled = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_PERIOD:
		event->period = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_PID:
		return parse_target(attr, &event->pids, &event->nr_pids);
	case KTB_A_EVENT_TID:
		return parse_target(attr, &event->tids, &event->nr_tids);
	case KTB_A_EVENT_INHERIT:
		event->inherit = true;
		break;
	case KTB_A_EVENT_CPUS:
		return parse_text(attr, &event->cpus);
	case KTB_A_EVENT_CGROUP:
		return parse_text(attr, &event->cgroup);
	case KTB_A_EVENT_PERF_ATTR:
		parse_perf_attr(attr, event);
		break;
	case KTB_A_EVENT_PROGRAM_ID:
		event->program = ktb_attr_uint(attr);
		break;
	case KTB_A_EVENT_PROGRAM_TEXT:
		return parse_text(attr, &event->program_text);
	case KTB_A_EVENT_LEDGER:
		parse_ledger(attr, &event->ledger);
		break;
	case KTB_A_EVENT_CPU_LEDGER:
		return parse_cpu_ledger(attr, event);
	}
	return 0;
}

static int parse_one(struct nlattr *head, int len, void *arg)
{
	struct ktb_event_info *event = arg;
	struct nlattr *attr;
	int left, err;

	event->ledger.cpu = -1;
	nla_for_each_attr(attr, head, len, left) {
		err = parse_attr(attr, event);
		if (err)
			return err;
	}
	return 0;
}

/* More CPUs of an event; all else is told anew. */
static int parse_more(struct nlattr *head, int len, struct ktb_event_info *event)
{
	event->nr_pids = 0;
	event->nr_tids = 0;
	return parse_one(head, len, event);
}

static bool is_last(const struct event_list *list, const struct nlattr *id)
{
	return list->nr && id && ktb_attr_uint(id) == list->all[list->nr - 1].id;
}

/* What is not in one message of a dump goes on in the next. */
static int parse_next(struct nlattr *head, int len, void *arg)
{
	struct event_list *list = arg;
	struct ktb_event_info *all;

	if (is_last(list, nla_find(head, len, KTB_A_EVENT_ID)))
		return parse_more(head, len, &list->all[list->nr - 1]);
	all = ktb_array_more(list->all, list->nr, sizeof(*all));
	if (!all)
		return -ENOMEM;
	list->all = all;
	return parse_one(head, len, &all[list->nr++]);
}

void ktb_event_info_copy(struct ktb_event_info *to, const struct ktb_event_info *from)
{
	*to = *from;
	to->pids = NULL;
	to->tids = NULL;
	to->cpus = NULL;
	to->cgroup = NULL;
	to->program_text = NULL;
	to->cpu_ledgers = NULL;
	to->nr_pids = 0;
	to->nr_tids = 0;
	to->nr_cpu_ledgers = 0;
}

static void event_info_free(struct ktb_event_info *event)
{
	free(event->pids);
	free(event->tids);
	free(event->cpus);
	free(event->cgroup);
	free(event->program_text);
	free(event->cpu_ledgers);
}

/* Room for @len bytes more than a message has by itself. */
static int expand(struct nl_msg *msg, size_t len)
{
	int err = nlmsg_expand(msg, nlmsg_hdr(msg)->nlmsg_len + ROOM + len);

	/* It never shrinks. */
	return err == -NLE_INVAL ? 0 : err;
}

static int put_functions(struct nl_msg *msg, const struct ktb_event_options *options)
{
	size_t len = 0;
	int err;

	for (unsigned int i = 0; i < options->nr_functions; i++)
		len += nla_total_size(strlen(options->functions[i]) + 1);
	err = len ? expand(msg, len) : 0;
	for (unsigned int i = 0; i < options->nr_functions && !err; i++)
		err = nla_put_string(msg, KTB_A_EVENT_FUNCTION, options->functions[i]);
	if (options->graph && !err)
		err = nla_put_flag(msg, KTB_A_EVENT_GRAPH);
	return err;
}

static int put_program(struct nl_msg *msg, const struct ktb_event_options *options)
{
	char text[KTRACE_BRIDGE_PROGRAM_TEXT_LEN + 1];
	int err;

	if (!options->has_program)
		return 0;
	err = nla_put_s32(msg, KTB_A_EVENT_PROGRAM, options->program);
	if (!options->program_text || err)
		return err;
	/* It is but to be shown: of a long one the beginning. */
	snprintf(text, sizeof(text), "%s", options->program_text);
	return nla_put_string(msg, KTB_A_EVENT_PROGRAM_TEXT, text);
}

/* Returns 0, or an error of libnl's if the request gets too long. */
static int put_options(struct nl_msg *msg, const struct ktb_event_options *options)
{
	int err = 0;

	if (options->period)
		err = nla_put_u64(msg, KTB_A_EVENT_PERIOD, options->period);
	for (unsigned int i = 0; i < options->nr_pids; i++)
		err = err ?: nla_put_u32(msg, KTB_A_EVENT_PID, options->pids[i]);
	for (unsigned int i = 0; i < options->nr_tids; i++)
		err = err ?: nla_put_u32(msg, KTB_A_EVENT_TID, options->tids[i]);
	if (options->inherit)
		err = err ?: nla_put_flag(msg, KTB_A_EVENT_INHERIT);
	if (options->cpus)
		err = err ?: nla_put_string(msg, KTB_A_EVENT_CPUS, options->cpus);
	if (options->cgroup)
		err = err ?: nla_put_string(msg, KTB_A_EVENT_CGROUP, options->cgroup);
	if (options->attr)
		err = err   ?:
			      nla_put(msg, KTB_A_EVENT_PERF_ATTR, options->attr->size,
				      options->attr);
	err = err ?: put_functions(msg, options);
	err = err ?: put_program(msg, options);
	if (options->disabled)
		err = err ?: nla_put_u8(msg, KTB_A_EVENT_ENABLED, 0);
	return err;
}

int ktb_event_attach(struct ktb_conn *conn, uint32_t session, const char *name,
		     const struct ktb_event_options *options, struct ktb_event_info *event)
{
	struct ktb_event_info made = { 0 };
	struct ktb_parse parse = { parse_one, &made };
	struct nl_msg *msg;
	int err;

	if (strlen(name) > KTRACE_BRIDGE_EVENT_NAME_LEN) {
		conn->error_attr = "name";
		return ktb_conn_fail(conn, -EINVAL,
				     "the event's name is longer than %d bytes: '%s'",
				     KTRACE_BRIDGE_EVENT_NAME_LEN, name);
	}
	err = ktb_request_new(conn, KTB_CMD_EVENT_ATTACH, 0, &msg);
	if (err)
		return err;
	nla_put_u32(msg, KTB_A_EVENT_SESSION_ID, session);
	nla_put_string(msg, KTB_A_EVENT_NAME, name);
	if (options && put_options(msg, options)) {
		nlmsg_free(msg);
		return ktb_conn_fail(conn, -E2BIG,
				     "more processes, threads or CPUs than one event can name");
	}
	err = ktb_request_send(conn, msg, &parse);
	if (!err && event)
		ktb_event_info_copy(event, &made);
	event_info_free(&made);
	return err;
}

int ktb_event_detach(struct ktb_conn *conn, uint32_t session, uint64_t event,
		     struct ktb_event_info *last)
{
	struct ktb_event_info gone = { 0 };
	struct ktb_parse parse = { parse_one, &gone };
	struct nl_msg *msg;
	int err = ktb_request_new(conn, KTB_CMD_EVENT_DETACH, 0, &msg);

	if (err)
		return err;
	nla_put_u32(msg, KTB_A_EVENT_SESSION_ID, session);
	nla_put_u64(msg, KTB_A_EVENT_ID, event);
	err = ktb_request_send(conn, msg, &parse);
	if (!err && last)
		ktb_event_info_copy(last, &gone);
	event_info_free(&gone);
	return err;
}

/* Begin a request about several events. */
static int request_new(struct ktb_conn *conn, int cmd, uint32_t session, const uint64_t *events,
		       unsigned int nr, struct nl_msg **request)
{
	struct nl_msg *msg;
	int err = ktb_request_new(conn, cmd, 0, &msg);

	if (err)
		return err;
	err = expand(msg, (size_t)nr * nla_total_size(sizeof(*events))) ?:
		      nla_put_u32(msg, KTB_A_EVENT_SESSION_ID, session);
	for (unsigned int i = 0; i < nr && !err; i++)
		err = nla_put_u64(msg, KTB_A_EVENT_ID, events[i]);
	if (err) {
		nlmsg_free(msg);
		return ktb_conn_fail(conn, -ENOMEM, "out of memory");
	}
	*request = msg;
	return 0;
}

int ktb_events_detach(struct ktb_conn *conn, uint32_t session, const uint64_t *events,
		      unsigned int nr)
{
	struct nl_msg *msg;
	int err = request_new(conn, KTB_CMD_EVENT_DETACH, session, events, nr, &msg);

	return err ? err : ktb_request_send(conn, msg, NULL);
}

int ktb_events_set_enabled(struct ktb_conn *conn, uint32_t session, const uint64_t *events,
			   unsigned int nr, bool enabled)
{
	struct nl_msg *msg;
	int err = request_new(conn, KTB_CMD_EVENT_SET, session, events, nr, &msg);

	if (err)
		return err;
	nla_put_u8(msg, KTB_A_EVENT_ENABLED, enabled);
	return ktb_request_send(conn, msg, NULL);
}

int ktb_event_set_enabled(struct ktb_conn *conn, uint32_t session, uint64_t event, bool enabled)
{
	return ktb_events_set_enabled(conn, session, &event, 1, enabled);
}

/* Events may come and go while they are dumped: ask again then. */
int ktb_event_list(struct ktb_conn *conn, uint32_t session, bool per_cpu,
		   struct ktb_event_info **list)
{
	struct event_list events = { 0 };
	struct ktb_parse parse = { parse_next, &events };
	struct nl_msg *msg;
	int err, tries = 10;

	do {
		ktb_event_list_free(events.all, events.nr);
		events = (struct event_list){ 0 };
		err = ktb_request_new(conn, KTB_CMD_EVENT_GET, NLM_F_DUMP, &msg);
		if (err)
			return err;
		if (session)
			nla_put_u32(msg, KTB_A_EVENT_SESSION_ID, session);
		if (per_cpu)
			nla_put_flag(msg, KTB_A_EVENT_PER_CPU);
		err = ktb_request_send(conn, msg, &parse);
	} while (err == -EAGAIN && --tries);

	if (err) {
		ktb_event_list_free(events.all, events.nr);
		return err;
	}
	*list = events.all;
	return events.nr;
}

void ktb_event_list_free(struct ktb_event_info *list, int nr)
{
	for (int i = 0; i < nr; i++)
		event_info_free(&list[i]);
	free(list);
}
