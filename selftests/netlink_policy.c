// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every command against messages that are right, wrong, and from those who may
 * not send them.
 */
#include "ktb_test.h"

#include <grp.h>
#include <sys/socket.h>

#define EVENT	"sched:sched_switch"

enum kind { U8, U32, S32, U64, STR, FLAG };

static const size_t kind_size[] = { [U8] = 1, [U32] = 4, [S32] = 4, [U64] = 8, [FLAG] = 0 };

/* What each command takes, as the spec has it. */
static const struct attr {
	__u8 cmd;
	__u16 type;
	enum kind kind;
	size_t max_len;		/* of strings, without the NUL */
} attrs[] = {
	{ KTB_CMD_SESSION_NEW, KTB_A_SESSION_NAME, STR, KTRACE_BRIDGE_NAME_LEN },
	{ KTB_CMD_SESSION_NEW, KTB_A_SESSION_FLAGS, U32 },
	{ KTB_CMD_SESSION_NEW, KTB_A_SESSION_RING_SIZE, U64 },
	{ KTB_CMD_SESSION_NEW, KTB_A_SESSION_WATERMARK, U32 },
	{ KTB_CMD_SESSION_DEL, KTB_A_SESSION_ID, U32 },
	{ KTB_CMD_SESSION_DEL, KTB_A_SESSION_NAME, STR, KTRACE_BRIDGE_NAME_LEN },
	{ KTB_CMD_SESSION_SET, KTB_A_SESSION_ID, U32 },
	{ KTB_CMD_SESSION_SET, KTB_A_SESSION_NAME, STR, KTRACE_BRIDGE_NAME_LEN },
	{ KTB_CMD_SESSION_SET, KTB_A_SESSION_ENABLED, U8 },
	{ KTB_CMD_SESSION_SET, KTB_A_SESSION_WATERMARK, U32 },
	{ KTB_CMD_SESSION_GET, KTB_A_SESSION_ID, U32 },
	{ KTB_CMD_SESSION_GET, KTB_A_SESSION_NAME, STR, KTRACE_BRIDGE_NAME_LEN },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_SESSION_ID, U32 },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_NAME, STR, KTRACE_BRIDGE_EVENT_NAME_LEN },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_ENABLED, U8 },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_PERIOD, U64 },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_PID, U32 },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_TID, U32 },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_INHERIT, FLAG },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_CPUS, STR, KTRACE_BRIDGE_CPUS_LEN },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_CGROUP, STR, KTRACE_BRIDGE_CGROUP_LEN },
	{ KTB_CMD_EVENT_ATTACH, KTB_A_EVENT_GRAPH, FLAG },
	{ KTB_CMD_EVENT_DETACH, KTB_A_EVENT_SESSION_ID, U32 },
	{ KTB_CMD_EVENT_DETACH, KTB_A_EVENT_ID, U64 },
	{ KTB_CMD_EVENT_DETACH, KTB_A_EVENT_NAME, STR, KTRACE_BRIDGE_EVENT_NAME_LEN },
	{ KTB_CMD_EVENT_SET, KTB_A_EVENT_SESSION_ID, U32 },
	{ KTB_CMD_EVENT_SET, KTB_A_EVENT_ID, U64 },
	{ KTB_CMD_EVENT_SET, KTB_A_EVENT_NAME, STR, KTRACE_BRIDGE_EVENT_NAME_LEN },
	{ KTB_CMD_EVENT_SET, KTB_A_EVENT_ENABLED, U8 },
	{ KTB_CMD_EVENT_GET, KTB_A_EVENT_SESSION_ID, U32 },
	{ KTB_CMD_EVENT_GET, KTB_A_EVENT_ID, U64 },
	{ KTB_CMD_EVENT_GET, KTB_A_EVENT_NAME, STR, KTRACE_BRIDGE_EVENT_NAME_LEN },
	{ KTB_CMD_EVENT_GET, KTB_A_EVENT_PER_CPU, FLAG },
	{ KTB_CMD_SOURCE_GET, KTB_A_SOURCE_NAME, STR, KTRACE_BRIDGE_EVENT_NAME_LEN },
};

#define for_each_attr(a) \
	for ((a) = attrs; (a) < attrs + ARRAY_SIZE(attrs); (a)++)

/* Commands that also dump; a dump's attributes are checked as strictly. */
static bool dumps(__u8 cmd)
{
	return cmd == KTB_CMD_SESSION_GET || cmd == KTB_CMD_EVENT_GET ||
	       cmd == KTB_CMD_SOURCE_GET;
}

/* A message with this one attribute, of a length that may be wrong. */
static int one_attr(struct ktb_nl *nl, __u8 cmd, __u16 flags, __u16 type, const void *data,
		    size_t len, __u32 *offs)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, cmd, flags);
	*offs = ktb_put(&m, type, data, len);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

FIXTURE(policy)
{
	struct ktb_nl nl;
	struct ktb_session s;
};

FIXTURE_SETUP(policy)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_policy", 0, 4096, &self->s));
}

FIXTURE_TEARDOWN(policy)
{
	ktb_nl_close(&self->nl);
}

TEST_F(policy, valid)
{
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, "t_valid");
	ktb_put_u32(&m, KTB_A_SESSION_FLAGS, KTB_SESSION_PERSISTENT | KTB_SESSION_DISABLED);
	ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, 8192);
	ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, 4096);
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	ASSERT_EQ(0, ktb_session_find(&self->nl, "t_valid", &s));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, "t_valid");
	ktb_put_u8(&m, KTB_A_SESSION_ENABLED, 1);
	ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, 0);
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
	ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 0);
	ktb_put_u64(&m, KTB_A_EVENT_PERIOD, 1);
	ktb_put_u32(&m, KTB_A_EVENT_PID, getpid());
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_SET, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
	ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 1);
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_DETACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_DEL, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, "t_valid");
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_EQ(-ENOENT, ktb_session_find(&self->nl, "t_valid", &s));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SOURCE_GET, 0);
	ktb_put_str(&m, KTB_A_SOURCE_NAME, EVENT);
	EXPECT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));

	EXPECT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, &e));
	EXPECT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
}

/* One byte less and one more than an attribute of fixed length has. */
TEST_F(policy, wrong_length)
{
	static const char zeros[16];
	const struct attr *a;
	__u32 offs;

	for_each_attr(a) {
		size_t size = kind_size[a->kind];
		size_t tries[] = { size - 1, size + 1 };

		if (a->kind == STR)
			continue;
		for (size_t i = a->kind == FLAG; i < ARRAY_SIZE(tries); i++) {
			int error = one_attr(&self->nl, a->cmd, 0, a->type, zeros, tries[i], &offs);

			EXPECT_TRUE(error == -EINVAL || error == -ERANGE)
				TH_LOG("cmd %d attr %d length %zu: %d", a->cmd, a->type,
				       tries[i], error);
			EXPECT_NE('\0', self->nl.text[0]);
			EXPECT_EQ(offs, self->nl.offs);
		}
	}
}

TEST_F(policy, string_without_nul)
{
	const struct attr *a;
	__u32 offs;

	for_each_attr(a) {
		if (a->kind != STR)
			continue;
		EXPECT_EQ(-EINVAL, one_attr(&self->nl, a->cmd, 0, a->type, "abc", 3, &offs));
		EXPECT_NE('\0', self->nl.text[0]);
		EXPECT_EQ(offs, self->nl.offs);
	}
}

TEST_F(policy, string_too_long)
{
	const struct attr *a;
	char name[2048] = "";
	__u32 offs;
	int error;

	memset(name, 'x', sizeof(name) - 1);
	for_each_attr(a) {
		if (a->kind != STR)
			continue;
		error = one_attr(&self->nl, a->cmd, 0, a->type,
				 name + sizeof(name) - 1 - (a->max_len + 1),
				 a->max_len + 2, &offs);
		/* The kernel takes a NUL that comes too late for none. */
		EXPECT_TRUE(error == -EINVAL || error == -ERANGE);
		EXPECT_NE('\0', self->nl.text[0]);
		EXPECT_EQ(offs, self->nl.offs);
	}
}

TEST_F(policy, longest_name)
{
	char name[KTRACE_BRIDGE_NAME_LEN + 1] = "t_";
	struct ktb_session s;

	memset(name + 2, 'x', sizeof(name) - 3);
	ASSERT_EQ(0, ktb_session_new(&self->nl, name, 0, 4096, NULL));
	ASSERT_EQ(0, ktb_session_find(&self->nl, name, &s));
	EXPECT_STREQ(name, s.name);
}

TEST_F(policy, unknown_attribute)
{
	static const __u16 types[] = { KTB_A_EVENT_MAX + 1, 200, 0x3fff };
	__u8 value = 1;
	__u32 offs;

	for (__u8 cmd = KTB_CMD_SESSION_NEW; cmd <= KTB_CMD_SOURCE_GET; cmd++) {
		for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
			EXPECT_EQ(-EINVAL, one_attr(&self->nl, cmd, 0, types[i], &value, 1, &offs));
			EXPECT_TRUE(!!strcasestr(self->nl.text, "attribute"));
			EXPECT_EQ(offs, self->nl.offs);
			if (!dumps(cmd))
				continue;
			EXPECT_EQ(-EINVAL, one_attr(&self->nl, cmd, NLM_F_DUMP, types[i],
						    &value, 1, &offs));
		}
	}
}

/* Attributes that exist, but not for this command. */
TEST_F(policy, attribute_of_another_command)
{
	__u32 flags = 0, offs;

	EXPECT_EQ(-EINVAL, one_attr(&self->nl, KTB_CMD_SESSION_SET, 0, KTB_A_SESSION_FLAGS,
				    &flags, sizeof(flags), &offs));
	EXPECT_NE('\0', self->nl.text[0]);
	EXPECT_EQ(offs, self->nl.offs);
	EXPECT_EQ(-EINVAL, one_attr(&self->nl, KTB_CMD_SESSION_NEW, 0, KTB_A_SESSION_ID,
				    &flags, sizeof(flags), &offs));
	EXPECT_EQ(-EINVAL, one_attr(&self->nl, KTB_CMD_EVENT_GET, 0, KTB_A_EVENT_PID,
				    &flags, sizeof(flags), &offs));
}

TEST_F(policy, bytes_left_over)
{
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_GET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, self->s.id);
	m.h.nlmsg_len += 3;
	EXPECT_EQ(-EINVAL, ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_NE('\0', self->nl.text[0]);
}

TEST_F(policy, unknown_command)
{
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_NEW_NTF, 0);
	EXPECT_EQ(-EOPNOTSUPP, ktb_nl_do(&self->nl, &m, NULL, NULL));
	ktb_msg_init(&self->nl, &m, 255, 0);
	EXPECT_EQ(-EOPNOTSUPP, ktb_nl_do(&self->nl, &m, NULL, NULL));
}

/* The text, or the ack's own attribute for it, says what is missing. */
#define EXPECT_MISSING(type, keyword, m)					\
	do {									\
		EXPECT_EQ(-EINVAL, ktb_nl_do(&self->nl, m, NULL, NULL));	\
		EXPECT_NE('\0', self->nl.text[0]);				\
		EXPECT_TRUE(self->nl.miss == (type) ||				\
			    strcasestr(self->nl.text, keyword))			\
			TH_LOG("'%s' does not name %s", self->nl.text, keyword);	\
	} while (0)

TEST_F(policy, missing_attribute)
{
	static const __u8 of_session[] = {
		KTB_CMD_SESSION_DEL, KTB_CMD_SESSION_SET, KTB_CMD_SESSION_GET,
	};
	static const __u8 of_event[] = {
		KTB_CMD_EVENT_ATTACH, KTB_CMD_EVENT_DETACH, KTB_CMD_EVENT_SET, KTB_CMD_EVENT_GET,
	};
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_NEW, 0);
	EXPECT_MISSING(KTB_A_SESSION_NAME, "name", &m);
	for (size_t i = 0; i < ARRAY_SIZE(of_session); i++) {
		ktb_msg_init(&self->nl, &m, of_session[i], 0);
		EXPECT_MISSING(KTB_A_SESSION_ID, "id", &m);
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_event); i++) {
		ktb_msg_init(&self->nl, &m, of_event[i], 0);
		ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
		EXPECT_MISSING(KTB_A_EVENT_SESSION_ID, "session", &m);

		ktb_msg_init(&self->nl, &m, of_event[i], 0);
		ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
		EXPECT_MISSING(KTB_A_EVENT_NAME, "name", &m);
	}
	ktb_msg_init(&self->nl, &m, KTB_CMD_SOURCE_GET, 0);
	EXPECT_MISSING(KTB_A_SOURCE_NAME, "name", &m);
}

TEST_F(policy, session_out_of_range)
{
	struct ktb_msg m;

	EXPECT_REFUSED(&self->nl, EINVAL, "name",
		       ktb_session_new(&self->nl, "", 0, 4096, NULL));
	EXPECT_REFUSED(&self->nl, EOPNOTSUPP, "flags",
		       ktb_session_new(&self->nl, "t_bad", 1U << 31, 4096, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, "t_bad");
	ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, 0);
	EXPECT_REFUSED(&self->nl, EINVAL, "ring-size", ktb_nl_do(&self->nl, &m, NULL, NULL));

	EXPECT_REFUSED(&self->nl, EINVAL, "ring-size",
		       ktb_session_new(&self->nl, "t_bad", 0, 1ULL << 62, NULL));
	EXPECT_REFUSED(&self->nl, EINVAL, "ring-size",
		       ktb_session_new(&self->nl, "t_bad", 0, ~0ULL, NULL));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, self->s.id);
	ktb_put_u8(&m, KTB_A_SESSION_ENABLED, 2);
	EXPECT_REFUSED(&self->nl, EINVAL, "enabled", ktb_nl_do(&self->nl, &m, NULL, NULL));

	EXPECT_EQ(1, ktb_session_count(&self->nl));
}

/* A message that attaches EVENT, but for one attribute that is out of range. */
static int attach_with(struct ktb_nl *nl, __u32 session, __u16 type, const void *data, size_t len)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
	ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
	ktb_put(&m, type, data, len);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

TEST_F(policy, event_out_of_range)
{
	struct ktb_nl *nl = &self->nl;
	__u32 id = self->s.id;
	__u64 zero = 0;
	__u32 no_pid = 1 << 30;
	__u8 two = 2;
	struct ktb_msg m;

	EXPECT_REFUSED(nl, EINVAL, "period",
		       attach_with(nl, id, KTB_A_EVENT_PERIOD, &zero, sizeof(zero)));
	EXPECT_REFUSED(nl, EINVAL, "enabled",
		       attach_with(nl, id, KTB_A_EVENT_ENABLED, &two, sizeof(two)));
	EXPECT_REFUSED(nl, ESRCH, "pid",
		       attach_with(nl, id, KTB_A_EVENT_PID, &no_pid, sizeof(no_pid)));
	EXPECT_REFUSED(nl, EINVAL, "name", ktb_event_attach(nl, id, "sched", 0, NULL));
	EXPECT_REFUSED(nl, EINVAL, "name", ktb_event_attach(nl, id, "sched:", 0, NULL));
	EXPECT_REFUSED(nl, EINVAL, "name", ktb_event_attach(nl, id, ":", 0, NULL));
	EXPECT_EQ(0, ktb_event_count(nl));

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_DETACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, id);
	ktb_put_u64(&m, KTB_A_EVENT_ID, 0);
	EXPECT_REFUSED(nl, ENOENT, "event", ktb_nl_do(nl, &m, NULL, NULL));
	ktb_msg_init(nl, &m, KTB_CMD_SOURCE_GET, 0);
	ktb_put_str(&m, KTB_A_SOURCE_NAME, "no:such_event");
	EXPECT_REFUSED(nl, ENOENT, "event", ktb_nl_do(nl, &m, NULL, NULL));
}

TEST_F(policy, duplicate_name)
{
	EXPECT_REFUSED(&self->nl, EEXIST, "name",
		       ktb_session_new(&self->nl, "t_policy", 0, 4096, NULL));
	EXPECT_EQ(1, ktb_session_count(&self->nl));
}

TEST_F(policy, unknown_session)
{
	struct ktb_nl *nl = &self->nl;
	__u32 id = self->s.id + 1000;
	struct ktb_session s;
	struct ktb_event e;

	EXPECT_REFUSED(nl, ENOENT, "session", ktb_session_del(nl, id));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_session_enable(nl, id, true));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_session_get(nl, id, &s));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_session_find(nl, "t_none", &s));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_session_get(nl, 0, &s));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_event_attach(nl, id, EVENT, 0, &e));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_event_detach(nl, id, 1, &e));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_event_enable(nl, id, 1, true));
	EXPECT_REFUSED(nl, ENOENT, "session", ktb_event_get(nl, id, 1, &e));
}

/* Id and name that are those of two sessions mean neither. */
TEST_F(policy, id_and_name_disagree)
{
	struct ktb_msg m;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_other", 0, 4096, NULL));
	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_DEL, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_SESSION_NAME, "t_other");
	EXPECT_GT(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_NE('\0', self->nl.text[0]);
	EXPECT_EQ(2, ktb_session_count(&self->nl));
}

/*
 * Privilege. Each command, dumps too, is sent with attributes that would do for
 * root, so that nothing but privilege can be what it is refused for.
 */
static int privileged_do(struct ktb_nl *nl, __u8 cmd, __u16 flags, __u32 session)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, cmd, flags);
	switch (cmd) {
	case KTB_CMD_SESSION_NEW:
		ktb_put_str(&m, KTB_A_SESSION_NAME, "t_priv");
		ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, 4096);
		break;
	case KTB_CMD_SESSION_SET:
		ktb_put_u32(&m, KTB_A_SESSION_ID, session);
		ktb_put_u8(&m, KTB_A_SESSION_ENABLED, 1);
		break;
	case KTB_CMD_SESSION_DEL:
	case KTB_CMD_SESSION_GET:
		if (!flags)
			ktb_put_u32(&m, KTB_A_SESSION_ID, session);
		break;
	case KTB_CMD_SOURCE_GET:
		if (!flags)
			ktb_put_str(&m, KTB_A_SOURCE_NAME, EVENT);
		break;
	default:
		if (!flags) {
			ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
			ktb_put_str(&m, KTB_A_EVENT_NAME, EVENT);
		}
		if (cmd == KTB_CMD_EVENT_SET)
			ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 1);
	}
	return ktb_nl_do(nl, &m, NULL, NULL);
}

/* How many of all commands, dumps too, are not refused as they should be. */
static int not_refused(struct ktb_nl *nl, __u32 session)
{
	int count = 0;

	for (__u8 cmd = KTB_CMD_SESSION_NEW; cmd <= KTB_CMD_SOURCE_GET; cmd++) {
		for (int dump = 0; dump <= dumps(cmd); dump++) {
			int error = privileged_do(nl, cmd, dump ? NLM_F_DUMP : 0, session);

			if (error == -EPERM && strstr(nl->text, "CAP_PERFMON"))
				continue;
			ksft_print_msg("command %d%s: %d '%s'\n", cmd, dump ? " dump" : "",
				       error, nl->text);
			count++;
		}
	}
	return count;
}

/* In a child: give up what @drop says, then see every command refused. */
static int child_refused(struct ktb_nl *nl, __u32 session, int (*drop)(void), bool own_socket)
{
	struct ktb_nl own, *use = nl;
	pid_t pid = fork();

	if (pid)
		return ktb_reap(pid);
	if (drop())
		_exit(100);
	if (own_socket) {
		if (ktb_nl_open(&own))
			_exit(101);
		use = &own;
	}
	_exit(not_refused(use, session));
}

static int drop_user(void)
{
	return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	       setresuid(NOBODY, NOBODY, NOBODY);
}

static int drop_all_caps(void)
{
	return ktb_keep_caps(0);
}

static int keep_net_admin(void)
{
	return ktb_keep_caps(1ULL << CAP_NET_ADMIN);
}

static int keep_all_but_ours(void)
{
	return ktb_keep_caps(~(1ULL << CAP_PERFMON | 1ULL << CAP_SYS_ADMIN) &
			     ((1ULL << (CAP_LAST_CAP + 1)) - 1));
}

/* Every capability, in a user namespace that is not the initial one. */
static int own_user_ns(void)
{
	return unshare(CLONE_NEWUSER);
}

TEST_F(policy, no_privilege)
{
	__u32 id = self->s.id;

	EXPECT_EQ(0, child_refused(&self->nl, id, drop_user, true));
	EXPECT_EQ(0, child_refused(&self->nl, id, drop_all_caps, true));
	EXPECT_EQ(0, child_refused(&self->nl, id, keep_net_admin, true));
	EXPECT_EQ(0, child_refused(&self->nl, id, keep_all_but_ours, true));
	EXPECT_EQ(1, ktb_session_count(&self->nl));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(policy, own_user_namespace)
{
	int left = child_refused(&self->nl, self->s.id, own_user_ns, true);

	if (left == 100)
		SKIP(return, "no user namespaces here");
	EXPECT_EQ(0, left);
}

/* A socket of root's does not carry root's rights to who uses it. */
TEST_F(policy, borrowed_socket)
{
	struct ktb_nl own;

	ASSERT_EQ(0, ktb_nl_open(&own));
	EXPECT_EQ(0, child_refused(&own, self->s.id, drop_user, false));
}

/* Nor may who cannot open a privileged one have root write into theirs. */
TEST_F(policy, socket_opened_without_privilege)
{
	struct ktb_nl nl;

	ASSERT_EQ(0, seteuid(NOBODY));
	ASSERT_EQ(0, ktb_nl_open(&nl));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(0, not_refused(&nl, self->s.id));
}

static int works_with(int cap)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	pid_t pid = fork();

	if (pid)
		return ktb_reap(pid);
	if (ktb_keep_caps(1ULL << cap))
		_exit(100);
	_exit(ktb_nl_open(&nl) || ktb_session_new(&nl, "t_cap", 0, 4096, &s) ||
	      ktb_event_attach(&nl, s.id, EVENT, 0, &e) ||
	      ktb_event_get(&nl, s.id, e.id, &e) || ktb_event_enable(&nl, s.id, e.id, false) ||
	      ktb_event_detach(&nl, s.id, e.id, &e) || ktb_session_count(&nl) != 2 ||
	      ktb_session_del(&nl, s.id));
}

TEST_F(policy, one_capability_does)
{
	EXPECT_EQ(0, works_with(CAP_PERFMON));
	EXPECT_EQ(0, works_with(CAP_SYS_ADMIN));
	EXPECT_EQ(1, works_with(CAP_NET_ADMIN));
}

TEST_F(policy, other_network_namespace)
{
	__u16 family = self->nl.family;
	pid_t pid = fork();
	struct ktb_nl nl;

	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(100);
		/* Not to be found by name there, and not there by number. */
		if (ktb_nl_open(&nl) != -ENOENT)
			_exit(1);
		if (ktb_nl_open_family(&nl, family))
			_exit(101);
		for (__u8 cmd = KTB_CMD_SESSION_NEW; cmd <= KTB_CMD_SOURCE_GET; cmd++)
			if (privileged_do(&nl, cmd, 0, self->s.id) >= 0)
				_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, ktb_reap(pid));
	EXPECT_EQ(1, ktb_session_count(&self->nl));
}

TEST_HARNESS_MAIN
