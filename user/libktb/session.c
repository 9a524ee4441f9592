// SPDX-License-Identifier: LGPL-2.1-only
/* Sessions over the control connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct session_list {
	struct ktb_session_info *all;
	unsigned int nr;
};

static int parse_reader(struct nlattr *nest, struct ktb_session_info *session)
{
	struct ktb_reader_info *reader;
	struct nlattr *attr;
	int left;

	reader = ktb_array_more(session->readers, session->nr_readers, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	session->readers = reader;
	reader += session->nr_readers++;
	nla_for_each_nested(attr, nest, left) {
		switch (nla_type(attr)) {
		case KTB_A_READER_CPU:
			reader->cpu = (int32_t)ktb_attr_uint(attr);
			break;
		case KTB_A_READER_PID:
			reader->pid = ktb_attr_uint(attr);
			break;
		case KTB_A_READER_COMM:
			ktb_attr_text(attr, reader->comm, sizeof(reader->comm));
			break;
		}
	}
	return 0;
}

static void parse_ring_attr(const struct nlattr *attr, struct ktb_ring_info *ring)
{
	uint64_t value = ktb_attr_uint(attr);

	switch (nla_type(attr)) {
	case KTB_A_RING_CPU:
		ring->cpu = value;
		break;
	case KTB_A_RING_SIZE:
		ring->size = value;
		break;
	case KTB_A_RING_HEAD:
		ring->head = value;
		break;
	case KTB_A_RING_TAIL:
		ring->tail = value;
		break;
	case KTB_A_RING_LOST:
		ring->lost = value;
		break;
	case KTB_A_RING_WAKEUPS:
		ring->wakeups = value;
		break;
	case KTB_A_RING_ONLINE:
		ring->online = value;
		break;
	}
}

static int parse_ring(struct nlattr *nest, struct ktb_session_info *session)
{
	struct ktb_ring_info *ring;
	struct nlattr *attr;
	int left;

	ring = ktb_array_more(session->rings, session->nr_rings, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	session->rings = ring;
	ring += session->nr_rings++;
	nla_for_each_nested(attr, nest, left)
		parse_ring_attr(attr, ring);
	return 0;
}

static int parse_attr(struct nlattr *attr, struct ktb_session_info *session)
{
	switch (nla_type(attr)) {
	case KTB_A_SESSION_ID:
		session->id = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_NAME:
		ktb_attr_text(attr, session->name, sizeof(session->name));
		break;
	case KTB_A_SESSION_FLAGS:
		session->flags = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_RING_SIZE:
		session->ring_size = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_WATERMARK:
		session->watermark = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_ENABLED:
		session->enabled = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_SAMPLE_TYPE:
		session->sample_type = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_MAX_STACK:
		session->max_stack = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_EVENTS:
		session->nr_events = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_OWNER:
		session->owner = ktb_attr_uint(attr);
		break;
	case KTB_A_SESSION_READER:
		return parse_reader(attr, session);
	case KTB_A_SESSION_RING:
		return parse_ring(attr, session);
	}
	return 0;
}

static int parse_one(struct nlattr *head, int len, void *arg)
{
	struct ktb_session_info *session = arg;
	struct nlattr *attr;
	int left, err;

	nla_for_each_attr(attr, head, len, left) {
		err = parse_attr(attr, session);
		if (err)
			return err;
	}
	return 0;
}

static bool is_last(const struct session_list *list, const struct nlattr *id)
{
	return list->nr && id && ktb_attr_uint(id) == list->all[list->nr - 1].id;
}

/* What is not in one message of a dump goes on in the next: more rings, the rest anew. */
static int parse_next(struct nlattr *head, int len, void *arg)
{
	struct session_list *list = arg;
	struct ktb_session_info *all;

	if (is_last(list, nla_find(head, len, KTB_A_SESSION_ID)))
		return parse_one(head, len, &list->all[list->nr - 1]);
	all = ktb_array_more(list->all, list->nr, sizeof(*all));
	if (!all)
		return -ENOMEM;
	list->all = all;
	return parse_one(head, len, &all[list->nr++]);
}

static int check_name(struct ktb_conn *conn, const char *name)
{
	conn->error_attr = "name";
	if (!*name)
		return ktb_conn_fail(conn, -EINVAL, "a session needs a name");
	if (strlen(name) > KTRACE_BRIDGE_NAME_LEN)
		return ktb_conn_fail(conn, -EINVAL,
				     "the session's name is longer than %d bytes: '%s'",
				     KTRACE_BRIDGE_NAME_LEN, name);
	conn->error_attr = NULL;
	return 0;
}

static void put_options(struct nl_msg *msg, const struct ktb_session_options *options)
{
	nla_put_u32(msg, KTB_A_SESSION_FLAGS, options->flags);
	if (options->ring_size)
		nla_put_u64(msg, KTB_A_SESSION_RING_SIZE, options->ring_size);
	if (options->watermark)
		nla_put_u32(msg, KTB_A_SESSION_WATERMARK, options->watermark);
	if (options->max_stack)
		nla_put_u32(msg, KTB_A_SESSION_MAX_STACK, options->max_stack);
}

int ktb_session_new(struct ktb_conn *conn, const char *name,
		    const struct ktb_session_options *options, struct ktb_session_info *session)
{
	struct ktb_session_info made = { 0 };
	struct ktb_parse parse = { parse_one, &made };
	struct nl_msg *msg;
	int err;

	err = check_name(conn, name);
	if (err)
		return err;
	err = ktb_request_new(conn, KTB_CMD_SESSION_NEW, 0, &msg);
	if (err)
		return err;
	nla_put_string(msg, KTB_A_SESSION_NAME, name);
	if (options)
		put_options(msg, options);
	err = ktb_request_send(conn, msg, &parse);
	ktb_session_info_clear(&made);
	if (!err && session)
		*session = made;
	return err;
}

int ktb_session_del(struct ktb_conn *conn, uint32_t session)
{
	struct nl_msg *msg;
	int err = ktb_request_new(conn, KTB_CMD_SESSION_DEL, 0, &msg);

	if (err)
		return err;
	nla_put_u32(msg, KTB_A_SESSION_ID, session);
	return ktb_request_send(conn, msg, NULL);
}

int ktb_session_set_enabled(struct ktb_conn *conn, uint32_t session, bool enabled)
{
	struct nl_msg *msg;
	int err = ktb_request_new(conn, KTB_CMD_SESSION_SET, 0, &msg);

	if (err)
		return err;
	nla_put_u32(msg, KTB_A_SESSION_ID, session);
	nla_put_u8(msg, KTB_A_SESSION_ENABLED, enabled);
	return ktb_request_send(conn, msg, NULL);
}

int ktb_session_set_watermark(struct ktb_conn *conn, uint32_t session, uint32_t watermark)
{
	struct nl_msg *msg;
	int err = ktb_request_new(conn, KTB_CMD_SESSION_SET, 0, &msg);

	if (err)
		return err;
	nla_put_u32(msg, KTB_A_SESSION_ID, session);
	nla_put_u32(msg, KTB_A_SESSION_WATERMARK, watermark);
	return ktb_request_send(conn, msg, NULL);
}

int ktb_session_get(struct ktb_conn *conn, const char *name, struct ktb_session_info *session)
{
	struct ktb_parse parse = { parse_one, session };
	struct nl_msg *msg;
	int err;

	memset(session, 0, sizeof(*session));
	err = check_name(conn, name);
	if (err)
		return err;
	err = ktb_request_new(conn, KTB_CMD_SESSION_GET, 0, &msg);
	if (err)
		return err;
	nla_put_string(msg, KTB_A_SESSION_NAME, name);
	err = ktb_request_send(conn, msg, &parse);
	if (err)
		ktb_session_info_clear(session);
	return err;
}

void ktb_session_info_clear(struct ktb_session_info *session)
{
	free(session->readers);
	free(session->rings);
	session->readers = NULL;
	session->rings = NULL;
	session->nr_readers = 0;
	session->nr_rings = 0;
}

/* Anything but 0 sessions may change while they are dumped: ask again then. */
int ktb_session_list(struct ktb_conn *conn, struct ktb_session_info **list)
{
	struct session_list sessions = { 0 };
	struct ktb_parse parse = { parse_next, &sessions };
	struct nl_msg *msg;
	int err, tries = 10;

	do {
		ktb_session_list_free(sessions.all, sessions.nr);
		sessions = (struct session_list){ 0 };
		err = ktb_request_new(conn, KTB_CMD_SESSION_GET, NLM_F_DUMP, &msg);
		if (err)
			return err;
		err = ktb_request_send(conn, msg, &parse);
	} while (err == -EAGAIN && --tries);

	if (err) {
		ktb_session_list_free(sessions.all, sessions.nr);
		return err;
	}
	*list = sessions.all;
	return sessions.nr;
}

void ktb_session_list_free(struct ktb_session_info *list, int nr)
{
	for (int i = 0; i < nr; i++)
		ktb_session_info_clear(&list[i]);
	free(list);
}
