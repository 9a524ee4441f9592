// SPDX-License-Identifier: GPL-2.0-only
/* What is made of answers of the module: here they are made up, in place of a socket's. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/genl.h>

#include "internal.h"
#include "tap.h"

static unsigned char answer[16384];
static size_t answer_len;

static void answer_add(struct nl_msg *msg)
{
	const struct nlmsghdr *header = nlmsg_hdr(msg);

	if (answer_len + NLMSG_ALIGN(header->nlmsg_len) > sizeof(answer))
		abort();
	memcpy(answer + answer_len, header, header->nlmsg_len);
	answer_len += NLMSG_ALIGN(header->nlmsg_len);
	nlmsg_free(msg);
}

static void answer_done(void)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NLMSG_DONE, NLM_F_MULTI);
	int err = 0;

	nlmsg_append(msg, &err, sizeof(err), NLMSG_ALIGNTO);
	answer_add(msg);
}

/* In place of the C library's, also for libnl. An answer has the request's number. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	const struct nlmsghdr *request = msg->msg_iov[0].iov_base;
	struct nlmsghdr *header;

	(void)fd;
	(void)flags;
	for (size_t at = 0; at < answer_len; at += NLMSG_ALIGN(header->nlmsg_len)) {
		header = (void *)(answer + at);
		header->nlmsg_seq = request->nlmsg_seq;
	}
	return request->nlmsg_len;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	size_t len = answer_len, room = msg->msg_iov[0].iov_len;

	(void)fd;
	memcpy(msg->msg_name, &kernel, sizeof(kernel));
	msg->msg_namelen = sizeof(kernel);
	msg->msg_controllen = 0;
	msg->msg_flags = len > room ? MSG_TRUNC : 0;
	memcpy(msg->msg_iov[0].iov_base, answer, len > room ? room : len);
	if (!(flags & MSG_PEEK))
		answer_len = 0;
	return (ssize_t)len;
}

static struct ktb_conn *connect_to_nobody(void)
{
	struct ktb_conn *conn = ktb_conn_new();

	conn->sock = nl_socket_alloc();
	conn->family = GENL_MIN_ID;
	if (!ok(!genl_connect(conn->sock), "a netlink socket"))
		exit(tap_end());
	return conn;
}

static struct nl_msg *message(int cmd)
{
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, 0, 0, GENL_MIN_ID, 0, NLM_F_MULTI, cmd, KTRACE_BRIDGE_FAMILY_VERSION);
	return msg;
}

/* ---- dumps ---- */

/* One message about a session, with some of its rings and maybe a reader. */
static void answer_session(uint32_t id, unsigned int cpu, unsigned int nr, uint32_t reader)
{
	struct nl_msg *msg = message(KTB_CMD_SESSION_GET);
	struct nlattr *nest;

	nla_put_u32(msg, KTB_A_SESSION_ID, id);
	nla_put_string(msg, KTB_A_SESSION_NAME, "one");
	for (unsigned int i = 0; i < nr; i++) {
		nest = nla_nest_start(msg, KTB_A_SESSION_RING);
		nla_put_u32(msg, KTB_A_RING_CPU, cpu + i);
		nla_nest_end(msg, nest);
	}
	if (reader) {
		nest = nla_nest_start(msg, KTB_A_SESSION_READER);
		nla_put_u32(msg, KTB_A_READER_PID, reader);
		nla_nest_end(msg, nest);
	}
	answer_add(msg);
}

static void test_sessions(struct ktb_conn *conn)
{
	struct ktb_session_info *list = NULL;
	bool in_order = true;
	int nr;

	answer_session(1, 0, 2, 0);
	answer_session(1, 2, 3, 0);
	answer_session(1, 5, 0, 77);
	answer_session(2, 0, 1, 78);
	answer_done();
	nr = ktb_session_list(conn, &list);
	if (!ok(nr == 2, "a session in three messages, and another: two sessions"))
		return;
	ok(list[0].id == 1 && list[1].id == 2, "each once");
	for (unsigned int i = 0; i < list[0].nr_rings; i++)
		in_order &= list[0].rings[i].cpu == i;
	ok(list[0].nr_rings == 5 && in_order, "the first with the rings of all messages");
	ok(list[0].nr_readers == 1 && list[0].readers[0].pid == 77, "and its reader");
	ok(list[1].nr_rings == 1 && list[1].nr_readers == 1, "the other with its own");
	ktb_session_list_free(list, nr);
}

static void put_ledger(struct nl_msg *msg, int attr, int cpu, uint64_t hits)
{
	struct nlattr *nest = nla_nest_start(msg, attr);

	if (cpu >= 0)
		nla_put_u32(msg, KTB_A_LEDGER_CPU, cpu);
	nla_put_u64(msg, KTB_A_LEDGER_HITS, hits);
	nla_nest_end(msg, nest);
}

/* One message about an event; what it is limited to is in each. */
static void answer_event(uint64_t id, uint64_t hits, unsigned int cpu, unsigned int nr)
{
	struct nl_msg *msg = message(KTB_CMD_EVENT_GET);

	nla_put_u32(msg, KTB_A_EVENT_SESSION_ID, 1);
	nla_put_u64(msg, KTB_A_EVENT_ID, id);
	nla_put_u32(msg, KTB_A_EVENT_PID, 10);
	nla_put_u32(msg, KTB_A_EVENT_PID, 11);
	nla_put_u32(msg, KTB_A_EVENT_TID, 12);
	nla_put_string(msg, KTB_A_EVENT_CPUS, "0-3");
	put_ledger(msg, KTB_A_EVENT_LEDGER, -1, hits);
	for (unsigned int i = 0; i < nr; i++)
		put_ledger(msg, KTB_A_EVENT_CPU_LEDGER, cpu + i, 100 + cpu + i);
	answer_add(msg);
}

static void test_events(struct ktb_conn *conn)
{
	struct ktb_event_info *list = NULL;
	bool in_order = true;
	int nr;

	answer_event(6, 5, 0, 0);
	answer_event(7, 406, 0, 1);
	answer_event(7, 407, 1, 3);
	answer_event(8, 5, 0, 1);
	answer_done();
	nr = ktb_event_list(conn, 1, true, &list);
	if (!ok(nr == 3, "an event in two messages, between others: three events"))
		return;
	ok(list[0].id == 6 && list[1].id == 7 && list[2].id == 8, "each once");
	for (unsigned int i = 0; i < list[1].nr_cpu_ledgers; i++)
		in_order &= list[1].cpu_ledgers[i].cpu == (int)i &&
			    list[1].cpu_ledgers[i].hits == 100 + i;
	ok(list[1].nr_cpu_ledgers == 4 && in_order, "the one with the ledgers of both messages");
	ok(list[1].ledger.cpu == -1 && list[1].ledger.hits == 407, "the newer sum");
	ok(list[1].nr_pids == 2 && list[1].pids[1] == 11, "its processes once");
	ok(list[1].nr_tids == 1 && !strcmp(list[1].cpus, "0-3"), "and its other limits");
	ok(!list[0].nr_cpu_ledgers && list[2].nr_cpu_ledgers == 1, "the others with their own");
	ktb_event_list_free(list, nr);
}

/* ---- refusals ---- */

/* Name of the attribute that a refusal says is missing. */
static const char *missing(struct ktb_conn *conn, int cmd, uint32_t type)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	struct nlmsgerr error = { .error = -22 };
	struct nl_msg *request;

	nlmsg_append(msg, &error, sizeof(error), NLMSG_ALIGNTO);
	nla_put_u32(msg, NLMSGERR_ATTR_MISS_TYPE, type);
	answer_add(msg);
	if (ktb_request_new(conn, cmd, 0, &request) || !ktb_request_send(conn, request, NULL))
		return NULL;
	return ktb_conn_error_attr(conn);
}

static void all_have_names(struct ktb_conn *conn, int cmd, uint32_t max, const char *what)
{
	uint32_t nameless = 0;

	for (uint32_t type = 1; type <= max && !nameless; type++)
		if (!missing(conn, cmd, type))
			nameless = type;
	if (!ok(!nameless, "a refusal names any attribute of %s", what))
		printf("# extack.c has no name for number %u\n", nameless);
	ok(!missing(conn, cmd, max + 1), "and has none for what is not known");
}

static void test_names(struct ktb_conn *conn)
{
	const char *name = missing(conn, KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_PERF_ATTR);

	ok(name && !strcmp(name, "perf-attr"), "a refusal is about an attribute");
	ok(!strcmp(ktb_conn_error(conn), "perf-attr is missing"), "which its text names");
	all_have_names(conn, KTB_CMD_SESSION_NEW, KTB_A_SESSION_MAX, "a session");
	all_have_names(conn, KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_MAX, "an event");
	all_have_names(conn, KTB_CMD_SOURCE_GET, KTB_A_SOURCE_MAX, "a source");
}

int main(void)
{
	struct ktb_conn *conn = connect_to_nobody();

	test_sessions(conn);
	test_events(conn);
	test_names(conn);
	ktb_conn_free(conn);
	return tap_end();
}
