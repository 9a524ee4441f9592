// SPDX-License-Identifier: GPL-2.0-only
/* The commands of the control channel as functions. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "ktb_ctl.h"

/* Where an attribute of one value goes. */
struct field {
	size_t offset;
	size_t size;
	bool string;
};

#define UINT(type, member)	{ offsetof(type, member), sizeof(((type *)0)->member), false }
#define STRING(type, member)	{ offsetof(type, member), sizeof(((type *)0)->member), true }

static const struct field ledger_fields[KTB_A_LEDGER_MAX + 1] = {
	[KTB_A_LEDGER_CPU] = UINT(struct ktb_ledger, cpu),
	[KTB_A_LEDGER_HITS] = UINT(struct ktb_ledger, hits),
	[KTB_A_LEDGER_WRITTEN] = UINT(struct ktb_ledger, written),
	[KTB_A_LEDGER_FILTERED] = UINT(struct ktb_ledger, filtered),
	[KTB_A_LEDGER_NOT_SAMPLED] = UINT(struct ktb_ledger, not_sampled),
	[KTB_A_LEDGER_LOST_FULL] = UINT(struct ktb_ledger, lost_full),
	[KTB_A_LEDGER_LOST_BIG] = UINT(struct ktb_ledger, lost_big),
	[KTB_A_LEDGER_LOST_RECURSION] = UINT(struct ktb_ledger, lost_recursion),
	[KTB_A_LEDGER_COUNT] = UINT(struct ktb_ledger, count),
	[KTB_A_LEDGER_THROTTLED] = UINT(struct ktb_ledger, throttled),
};

static const struct field event_fields[KTB_A_EVENT_MAX + 1] = {
	[KTB_A_EVENT_SESSION_ID] = UINT(struct ktb_event, session),
	[KTB_A_EVENT_ID] = UINT(struct ktb_event, id),
	[KTB_A_EVENT_NAME] = STRING(struct ktb_event, name),
	[KTB_A_EVENT_TYPE] = UINT(struct ktb_event, type),
	[KTB_A_EVENT_PATH] = UINT(struct ktb_event, path),
	[KTB_A_EVENT_ENABLED] = UINT(struct ktb_event, enabled),
	[KTB_A_EVENT_PERIOD] = UINT(struct ktb_event, period),
	[KTB_A_EVENT_TID] = UINT(struct ktb_event, tid),
	[KTB_A_EVENT_CGROUP] = STRING(struct ktb_event, cgroup),
	[KTB_A_EVENT_PROGRAM_ID] = UINT(struct ktb_event, program),
	[KTB_A_EVENT_PROGRAM_TEXT] = STRING(struct ktb_event, program_text),
};

static const struct field reader_fields[KTB_A_READER_MAX + 1] = {
	[KTB_A_READER_CPU] = UINT(struct ktb_reader, cpu),
	[KTB_A_READER_PID] = UINT(struct ktb_reader, pid),
	[KTB_A_READER_COMM] = STRING(struct ktb_reader, comm),
};

static const struct field ring_fields[KTB_A_RING_MAX + 1] = {
	[KTB_A_RING_CPU] = UINT(struct ktb_ring_info, cpu),
	[KTB_A_RING_SIZE] = UINT(struct ktb_ring_info, size),
	[KTB_A_RING_HEAD] = UINT(struct ktb_ring_info, head),
	[KTB_A_RING_TAIL] = UINT(struct ktb_ring_info, tail),
	[KTB_A_RING_LOST] = UINT(struct ktb_ring_info, lost),
	[KTB_A_RING_WAKEUPS] = UINT(struct ktb_ring_info, wakeups),
	[KTB_A_RING_ONLINE] = UINT(struct ktb_ring_info, online),
};

static const struct field session_fields[KTB_A_SESSION_MAX + 1] = {
	[KTB_A_SESSION_ID] = UINT(struct ktb_session, id),
	[KTB_A_SESSION_NAME] = STRING(struct ktb_session, name),
	[KTB_A_SESSION_FLAGS] = UINT(struct ktb_session, flags),
	[KTB_A_SESSION_RING_SIZE] = UINT(struct ktb_session, ring_size),
	[KTB_A_SESSION_WATERMARK] = UINT(struct ktb_session, watermark),
	[KTB_A_SESSION_ENABLED] = UINT(struct ktb_session, enabled),
	[KTB_A_SESSION_SAMPLE_TYPE] = UINT(struct ktb_session, sample_type),
	[KTB_A_SESSION_MAX_STACK] = UINT(struct ktb_session, max_stack),
	[KTB_A_SESSION_EVENTS] = UINT(struct ktb_session, events),
	[KTB_A_SESSION_OWNER] = UINT(struct ktb_session, owner),
};

static void take_field(const struct nlattr *a, const struct field *fields,
		       unsigned int max, void *to)
{
	unsigned int type = a->nla_type & NLA_TYPE_MASK;
	__u64 value = ktb_attr_uint(a);

	if (type > max || !fields[type].size)
		return;
	if (fields[type].string)
		ktb_attr_str(a, (char *)to + fields[type].offset, fields[type].size);
	else
		memcpy((char *)to + fields[type].offset, &value, fields[type].size);
}

static void take_nest(const struct nlattr *nest, const struct field *fields,
		      unsigned int max, void *to)
{
	const struct nlattr *a;
	size_t left;

	ktb_attr_for_each(a, ktb_attr_data(nest), ktb_attr_len(nest), left)
		take_field(a, fields, max, to);
}

static void take_event(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_event *e = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	memset(e, 0, sizeof(*e));
	ktb_attr_for_each(a, attrs, len, left) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		take_field(a, event_fields, KTB_A_EVENT_MAX, e);
		if (type == KTB_A_EVENT_LEDGER)
			take_nest(a, ledger_fields, KTB_A_LEDGER_MAX, &e->sum);
		else if (type == KTB_A_EVENT_CPU_LEDGER && e->ncpus < KTB_MAX_CPUS)
			take_nest(a, ledger_fields, KTB_A_LEDGER_MAX, &e->cpu[e->ncpus++]);
	}
}

static void take_session(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_session *s = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	memset(s, 0, sizeof(*s));
	ktb_attr_for_each(a, attrs, len, left) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		take_field(a, session_fields, KTB_A_SESSION_MAX, s);
		if (type == KTB_A_SESSION_READER && s->nreaders < KTB_MAX_CPUS)
			take_nest(a, reader_fields, KTB_A_READER_MAX, &s->reader[s->nreaders++]);
		else if (type == KTB_A_SESSION_RING && s->nrings < KTB_MAX_CPUS)
			take_nest(a, ring_fields, KTB_A_RING_MAX, &s->ring[s->nrings++]);
	}
}

static int do_session(struct ktb_nl *nl, struct ktb_msg *m, struct ktb_session *s)
{
	struct ktb_session unused;

	return ktb_nl_do(nl, m, take_session, s ?: &unused);
}

static int do_event(struct ktb_nl *nl, struct ktb_msg *m, struct ktb_event *ev)
{
	struct ktb_event unused;

	return ktb_nl_do(nl, m, take_event, ev ?: &unused);
}

int ktb_session_new(struct ktb_nl *nl, const char *name, __u32 flags, __u64 ring_size,
		    struct ktb_session *s)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	if (flags)
		ktb_put_u32(&m, KTB_A_SESSION_FLAGS, flags);
	if (ring_size)
		ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, ring_size);
	return do_session(nl, &m, s);
}

int ktb_session_new_stack(struct ktb_nl *nl, const char *name, __u64 ring_size, __u32 max_stack,
			  struct ktb_session *s)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, ring_size);
	ktb_put_u32(&m, KTB_A_SESSION_MAX_STACK, max_stack);
	return do_session(nl, &m, s);
}

int ktb_session_del(struct ktb_nl *nl, __u32 id)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_DEL, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, id);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

int ktb_session_enable(struct ktb_nl *nl, __u32 id, bool on)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, id);
	ktb_put_u8(&m, KTB_A_SESSION_ENABLED, on);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

int ktb_session_get(struct ktb_nl *nl, __u32 id, struct ktb_session *s)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_GET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, id);
	return do_session(nl, &m, s);
}

int ktb_session_find(struct ktb_nl *nl, const char *name, struct ktb_session *s)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_GET, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	return do_session(nl, &m, s);
}

static void count_reply(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	(void)cmd;
	(void)attrs;
	(void)len;
	++*(int *)arg;
}

int ktb_session_count(struct ktb_nl *nl)
{
	struct ktb_msg m;
	int error, count = 0;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_GET, NLM_F_DUMP);
	error = ktb_nl_do(nl, &m, count_reply, &count);
	return error ?: count;
}

struct sweep {
	__u32 id[256];
	int count;
};

static void note_session(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct sweep *sweep = arg;
	struct ktb_session s;

	take_session(cmd, attrs, len, &s);
	if (!strncmp(s.name, "t_", 2) && sweep->count < 256)
		sweep->id[sweep->count++] = s.id;
}

int ktb_session_sweep(struct ktb_nl *nl)
{
	struct sweep sweep = { .count = 0 };
	struct ktb_msg m;
	int error;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_GET, NLM_F_DUMP);
	error = ktb_nl_do(nl, &m, note_session, &sweep);
	/* One that went by itself meanwhile is gone, which is what is wanted. */
	while (!error && sweep.count > 0) {
		error = ktb_session_del(nl, sweep.id[--sweep.count]);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

int ktb_event_attach_as(struct ktb_nl *nl, __u32 session, const struct ktb_attach *how,
			struct ktb_event *ev)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
	ktb_put_str(&m, KTB_A_EVENT_NAME, how->name);
	for (unsigned int i = 0; i < how->npids; i++)
		ktb_put_u32(&m, KTB_A_EVENT_PID, how->pids[i]);
	for (unsigned int i = 0; i < how->ntids; i++)
		ktb_put_u32(&m, KTB_A_EVENT_TID, how->tids[i]);
	if (how->inherit)
		ktb_put(&m, KTB_A_EVENT_INHERIT, NULL, 0);
	if (how->cpus)
		ktb_put_str(&m, KTB_A_EVENT_CPUS, how->cpus);
	if (how->cgroup)
		ktb_put_str(&m, KTB_A_EVENT_CGROUP, how->cgroup);
	if (how->period)
		ktb_put_u64(&m, KTB_A_EVENT_PERIOD, how->period);
	if (how->attr)
		ktb_put(&m, KTB_A_EVENT_PERF_ATTR, how->attr, sizeof(*how->attr));
	if (how->function)
		ktb_put_str(&m, KTB_A_EVENT_FUNCTION, how->function);
	if (how->program)
		ktb_put_u32(&m, KTB_A_EVENT_PROGRAM, *how->program);
	if (how->program_text)
		ktb_put_str(&m, KTB_A_EVENT_PROGRAM_TEXT, how->program_text);
	return do_event(nl, &m, ev);
}

int ktb_event_attach(struct ktb_nl *nl, __u32 session, const char *name, __u32 tid,
		     struct ktb_event *ev)
{
	const struct ktb_attach how = { .name = name, .tids = &tid, .ntids = !!tid };

	return ktb_event_attach_as(nl, session, &how, ev);
}

static void event_msg(struct ktb_nl *nl, struct ktb_msg *m, __u8 cmd, __u32 session, __u64 id)
{
	ktb_msg_init(nl, m, cmd, 0);
	ktb_put_u32(m, KTB_A_EVENT_SESSION_ID, session);
	ktb_put_u64(m, KTB_A_EVENT_ID, id);
}

int ktb_event_detach(struct ktb_nl *nl, __u32 session, __u64 id, struct ktb_event *ev)
{
	struct ktb_msg m;

	event_msg(nl, &m, KTB_CMD_EVENT_DETACH, session, id);
	return do_event(nl, &m, ev);
}

static void events_msg(struct ktb_nl *nl, struct ktb_msg *m, __u8 cmd, __u32 session,
		       const __u64 *ids, int n)
{
	ktb_msg_init(nl, m, cmd, 0);
	ktb_put_u32(m, KTB_A_EVENT_SESSION_ID, session);
	for (int i = 0; i < n; i++)
		ktb_put_u64(m, KTB_A_EVENT_ID, ids[i]);
}

int ktb_events_detach(struct ktb_nl *nl, __u32 session, const __u64 *ids, int n)
{
	struct ktb_msg m;

	events_msg(nl, &m, KTB_CMD_EVENT_DETACH, session, ids, n);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

int ktb_events_enable(struct ktb_nl *nl, __u32 session, const __u64 *ids, int n, bool on)
{
	struct ktb_msg m;

	events_msg(nl, &m, KTB_CMD_EVENT_SET, session, ids, n);
	ktb_put_u8(&m, KTB_A_EVENT_ENABLED, on);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

int ktb_event_enable(struct ktb_nl *nl, __u32 session, __u64 id, bool on)
{
	return ktb_events_enable(nl, session, &id, 1, on);
}

int ktb_event_get(struct ktb_nl *nl, __u32 session, __u64 id, struct ktb_event *ev)
{
	struct ktb_msg m;

	event_msg(nl, &m, KTB_CMD_EVENT_GET, session, id);
	ktb_put(&m, KTB_A_EVENT_PER_CPU, NULL, 0);
	return do_event(nl, &m, ev);
}

int ktb_event_find(struct ktb_nl *nl, __u32 session, const char *name, struct ktb_event *ev)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_GET, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
	ktb_put_str(&m, KTB_A_EVENT_NAME, name);
	ktb_put(&m, KTB_A_EVENT_PER_CPU, NULL, 0);
	return do_event(nl, &m, ev);
}

int ktb_event_count(struct ktb_nl *nl)
{
	struct ktb_msg m;
	int error, count = 0;

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_GET, NLM_F_DUMP);
	error = ktb_nl_do(nl, &m, count_reply, &count);
	return error ?: count;
}

static void take_source(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_sources *all = arg;
	const struct nlattr *a;
	struct ktb_source *s;
	size_t left;

	(void)cmd;
	if (all->count == KTB_MAX_SOURCES)
		return;
	s = &all->list[all->count++];
	memset(s, 0, sizeof(*s));
	ktb_attr_for_each(a, attrs, len, left) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		if (type == KTB_A_SOURCE_NAME)
			ktb_attr_str(a, s->name, sizeof(s->name));
		else if (type == KTB_A_SOURCE_TYPE)
			s->type = ktb_attr_uint(a);
		else if (type == KTB_A_SOURCE_PATH)
			s->path = ktb_attr_uint(a);
		else if (type == KTB_A_SOURCE_SIZE)
			s->size = ktb_attr_uint(a);
	}
}

int ktb_sources_get(struct ktb_nl *nl, struct ktb_sources *all)
{
	struct ktb_msg m;

	all->count = 0;
	ktb_msg_init(nl, &m, KTB_CMD_SOURCE_GET, NLM_F_DUMP);
	return ktb_nl_do(nl, &m, take_source, all);
}

const struct ktb_source *ktb_source_find(const struct ktb_sources *all, const char *name)
{
	for (int i = 0; i < all->count; i++)
		if (!strcmp(all->list[i].name, name))
			return &all->list[i];
	return NULL;
}

static void take_notice(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_notice *n = arg;
	const struct nlattr *a;
	size_t left;

	memset(n, 0, sizeof(*n));
	n->cmd = cmd;
	n->cpu = -1;
	ktb_attr_for_each(a, attrs, len, left) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		if (type == KTB_A_NOTICE_SESSION_ID)
			n->session = ktb_attr_uint(a);
		else if (type == KTB_A_NOTICE_NAME)
			ktb_attr_str(a, n->name, sizeof(n->name));
		else if (type == KTB_A_NOTICE_EVENT_ID)
			n->event = ktb_attr_uint(a);
		else if (type == KTB_A_NOTICE_CPU)
			n->cpu = ktb_attr_uint(a);
	}
}

int ktb_listen(struct ktb_nl *nl)
{
	int error = ktb_nl_open(nl);

	if (error)
		return error;
	if (!setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nl->group,
			sizeof(nl->group)))
		return 0;
	error = -errno;
	ktb_nl_close(nl);
	return error;
}

int ktb_hear(struct ktb_nl *nl, __u8 cmd, struct ktb_notice *n)
{
	int error;

	do {
		error = ktb_nl_wait(nl, take_notice, n);
	} while (!error && cmd && n->cmd != cmd);
	return error;
}
