// SPDX-License-Identifier: LGPL-2.1-only
/* Bytes that grow; running out of memory is remembered, not reported each time. */
#include <stdlib.h>
#include <string.h>

#include "perfdata.h"

static bool make_room(struct ktb_blob *blob, size_t len)
{
	size_t room = blob->room ? blob->room : 4096;
	uint8_t *data;

	while (room - blob->len < len)
		room *= 2;
	if (room == blob->room)
		return true;
	data = realloc(blob->data, room);
	if (!data) {
		blob->failed = true;
		return false;
	}
	blob->data = data;
	blob->room = room;
	return true;
}

/* Add @len bytes of @data, or zeros if that is NULL. */
void ktb_blob_put(struct ktb_blob *blob, const void *data, size_t len)
{
	if (blob->failed || !len || !make_room(blob, len))
		return;
	if (data)
		memcpy(blob->data + blob->len, data, len);
	else
		memset(blob->data + blob->len, 0, len);
	blob->len += len;
}

void ktb_blob_put_u32(struct ktb_blob *blob, uint32_t value)
{
	ktb_blob_put(blob, &value, sizeof(value));
}

void ktb_blob_put_u64(struct ktb_blob *blob, uint64_t value)
{
	ktb_blob_put(blob, &value, sizeof(value));
}

/* As the file format has strings: length, then text and zeros. */
void ktb_blob_put_string(struct ktb_blob *blob, const char *text)
{
	size_t len = strlen(text), padded = (len + 8) & ~(size_t)7;

	ktb_blob_put_u32(blob, padded);
	ktb_blob_put(blob, text, len);
	ktb_blob_put(blob, NULL, padded - len);
}

void ktb_blob_align(struct ktb_blob *blob)
{
	ktb_blob_put(blob, NULL, -blob->len & 7);
}

void ktb_blob_free(struct ktb_blob *blob)
{
	free(blob->data);
	memset(blob, 0, sizeof(*blob));
}
