// SPDX-License-Identifier: GPL-2.0-only
/* Events of a session, named on the command line in full or by patterns. */
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

static int choose(struct selection *selection, const char *pattern)
{
	bool found = false;

	for (int i = 0; i < selection->nr; i++) {
		if (!name_matches(pattern, selection->events[i].name))
			continue;
		selection->chosen[i] = true;
		found = true;
	}
	if (found)
		return EXIT_DONE;
	return fail("session '%s' has no event '%s'; 'ktbctl status' shows what it has",
		    selection->session.name, pattern);
}

static int load(struct selection *selection, struct ktb_conn *conn)
{
	selection->nr = ktb_event_list(conn, selection->session.id, false, &selection->events);
	if (selection->nr < 0)
		return fail("%s", ktb_conn_error(conn));
	selection->chosen = calloc(selection->nr + 1, sizeof(*selection->chosen));
	return selection->chosen ? EXIT_DONE : fail("out of memory");
}

/*
 * Find a session, its events, and those of them that @patterns, up to a NULL, name.
 * Returns an exit status, the reason told; selection_free() in any case.
 */
int selection_make(struct selection *selection, struct ktb_conn *conn, const char *session,
		   char **patterns)
{
	int err;

	memset(selection, 0, sizeof(*selection));
	err = find_session(conn, session, &selection->session);
	if (err)
		return err;
	ktb_session_info_clear(&selection->session);
	err = load(selection, conn);
	for (; *patterns && !err; patterns++)
		err = choose(selection, *patterns);
	return err;
}

/* The sample ids of what is chosen, to be freed; NULL when out of memory, which is told. */
uint64_t *selection_ids(const struct selection *selection, unsigned int *nr)
{
	uint64_t *ids = calloc(selection->nr + 1, sizeof(*ids));

	*nr = 0;
	if (!ids)
		fail("out of memory");
	for (int i = 0; i < selection->nr && ids; i++)
		if (selection->chosen[i])
			ids[(*nr)++] = selection->events[i].id;
	return ids;
}

void selection_free(struct selection *selection)
{
	if (selection->nr > 0)
		ktb_event_list_free(selection->events, selection->nr);
	free(selection->chosen);
}
