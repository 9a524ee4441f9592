// SPDX-License-Identifier: GPL-2.0-only
/* Which event a sample is of, and its format, looked up when first seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

struct known_event {
	uint64_t id;
	char *name;
	bool loaded; /* its format, or what there is of it */
};

void names_init(struct names *names, struct ktb_conn *conn, struct ktb_formats *formats,
		uint32_t session)
{
	memset(names, 0, sizeof(*names));
	names->conn = conn;
	names->formats = formats;
	names->session = session;
}

void names_free(struct names *names)
{
	for (unsigned int i = 0; i < names->nr; i++)
		free(names->known[i].name);
	free(names->known);
}

/* Index of the first known id that is not below @id. */
static unsigned int lower_bound(const struct names *names, uint64_t id)
{
	unsigned int low = 0, high = names->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (names->known[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Of a session's many events few have samples: their formats are read then. */
static const char *find(struct names *names, uint64_t id)
{
	unsigned int at = lower_bound(names, id);
	struct known_event *known = &names->known[at];

	if (at == names->nr || known->id != id)
		return NULL;
	if (!known->loaded)
		ktb_formats_load(names->formats, known->name);
	known->loaded = true;
	return known->name;
}

static void add(struct names *names, uint64_t id, const char *name)
{
	unsigned int at = lower_bound(names, id);
	struct known_event *known;
	char *copy;

	if (at < names->nr && names->known[at].id == id)
		return;
	copy = strdup(name);
	known = reallocarray(names->known, names->nr + 1, sizeof(*known));
	if (known)
		names->known = known;
	if (!copy || !known) {
		free(copy);
		return;
	}
	memmove(known + at + 1, known + at, (names->nr++ - at) * sizeof(*known));
	known[at] = (struct known_event){ .id = id, .name = copy };
}

/* Events of the session, whichever have been attached since the last look. */
static void refresh(struct names *names)
{
	struct ktb_event_info *events;
	int nr = ktb_event_list(names->conn, names->session, false, &events);

	if (nr < 0)
		return;
	for (int i = 0; i < nr; i++)
		add(names, events[i].id, events[i].name);
	ktb_event_list_free(events, nr);
}

static uint16_t type_of(const struct ktb_sample *sample)
{
	uint16_t type = 0;

	if (sample->raw_size >= sizeof(type))
		memcpy(&type, sample->raw, sizeof(type));
	return type;
}

/* The event is detached, but its records are there: go by their common_type. */
static void add_detached(struct names *names, const struct ktb_sample *sample)
{
	uint16_t type = type_of(sample);
	struct catalog catalog;
	char name[64];

	snprintf(name, sizeof(name), "unknown:%u", type);
	if (!catalog_load(names->conn, &catalog)) {
		for (unsigned int i = 0; i < catalog.nr; i++)
			if (catalog_type(&catalog.events[i]) == type)
				add(names, sample->id, catalog.events[i].name);
		catalog_free(&catalog);
	}
	add(names, sample->id, name);
}

/* Name of the sample's event; its format is loaded if there is one. */
const char *names_of(struct names *names, const struct ktb_sample *sample)
{
	const char *name = find(names, sample->id);

	if (name)
		return name;
	refresh(names);
	name = find(names, sample->id);
	if (name)
		return name;
	if (sample->type == PERF_RECORD_SAMPLE)
		add_detached(names, sample);
	name = find(names, sample->id);
	return name ? name : "unknown";
}
