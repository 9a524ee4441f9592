// SPDX-License-Identifier: GPL-2.0-only
/* Finding the module and its sessions, and saying so if they are not there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

/* NULL, and the reason told, if that fails. */
struct ktb_conn *connect_module(void)
{
	struct ktb_conn *conn = ktb_conn_new();

	if (!conn) {
		fail("out of memory");
		return NULL;
	}
	if (ktb_conn_connect(conn)) {
		fail("%s", ktb_conn_error(conn));
		ktb_conn_free(conn);
		return NULL;
	}
	return conn;
}

static int fail_no_session(struct ktb_conn *conn, const char *name)
{
	struct ktb_session_info *sessions = NULL;
	int nr = ktb_session_list(conn, &sessions);
	char names[256] = "";
	size_t len = 0;

	for (int i = 0; i < nr && len < sizeof(names); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
				sessions[i].name);
	ktb_session_list_free(sessions, nr);
	if (nr > 0)
		return fail("there is no session '%s'; there is: %s", name, names);
	return fail("there is no session '%s', nor any other: 'ktbctl attach' makes one", name);
}

/* Returns an exit status; what @session points to is the caller's to clear. */
int find_session(struct ktb_conn *conn, const char *name, struct ktb_session_info *session)
{
	int err = ktb_session_get(conn, name, session);

	if (err == -ENOENT)
		return fail_no_session(conn, name);
	if (err)
		return fail("%s", ktb_conn_error(conn));
	return EXIT_DONE;
}

/* Who reads the session, if the module says EBUSY. */
int fail_busy(struct ktb_conn *conn, const char *name)
{
	struct ktb_session_info session;
	const struct ktb_reader_info *reader;
	char comm[64];

	if (ktb_session_get(conn, name, &session))
		return fail("another reader reads session '%s'", name);
	if (session.nr_readers) {
		reader = &session.readers[0];
		fail("another reader (process %u, %s) reads session '%s': end it first",
		     reader->pid,
		     clean_text(reader->comm, sizeof(reader->comm), comm, sizeof(comm)), name);
	} else {
		fail("another reader reads session '%s'", name);
	}
	ktb_session_info_clear(&session);
	return EXIT_FAILED;
}

void note_disabled(const char *session)
{
	note("session '%s' is disabled: 'ktbctl enable -s %s' enables it", session, session);
}

/* What is read along has to be there, and still be there. Returns an exit status. */
int refuse_unreadable(const struct ktb_session_info *session)
{
	if (session->flags & KTB_SESSION_COUNT_ONLY)
		return fail("session '%s' only counts: it has no records", session->name);
	if (!(session->flags & KTB_SESSION_OVERWRITE))
		return EXIT_DONE;
	return fail("session '%s' overwrites its oldest records: use 'ktbctl snapshot -s %s'",
		    session->name, session->name);
}

const char *path_text(uint32_t path)
{
	static const char *const texts[] = {
		[KTB_PATH_NATIVE] = "native",
		[KTB_PATH_PERF] = "perf",
		[KTB_PATH_FUNCTION] = "function",
	};

	if (!path)
		return "none";
	return path < ARRAY_SIZE(texts) ? texts[path] : "other";
}
