/* SPDX-License-Identifier: LGPL-2.1-only */
/* Taking apart bytes that may end too soon. */
#ifndef KTB_CURSOR_H
#define KTB_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left; @bad once something did not fit. */
struct ktb_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline size_t ktb_left(const struct ktb_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* The next @len bytes, in place; NULL if there are not as many. */
static inline const void *ktb_take(struct ktb_cursor *cursor, uint64_t len)
{
	const void *at = cursor->at;

	if (len > ktb_left(cursor)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += len;
	return at;
}

static inline uint64_t ktb_take_u64(struct ktb_cursor *cursor)
{
	const void *at = ktb_take(cursor, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t ktb_take_u32(struct ktb_cursor *cursor)
{
	const void *at = ktb_take(cursor, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* Text up to a zero, which is taken too. */
static inline const char *ktb_take_text(struct ktb_cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	size_t len = strnlen(text, ktb_left(cursor));

	if (len == ktb_left(cursor)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += len + 1;
	return text;
}

/* A string as perf.data has it: the size of what follows, text and zeros. */
static inline const char *ktb_take_string(struct ktb_cursor *cursor)
{
	uint32_t len = ktb_take_u32(cursor);
	const char *text = ktb_take(cursor, len);

	if (!text || !memchr(text, 0, len)) {
		cursor->bad = true;
		return NULL;
	}
	return text;
}

#endif /* KTB_CURSOR_H */
