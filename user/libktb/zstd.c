// SPDX-License-Identifier: LGPL-2.1-only
/* zstd, where it was built in. */
#include <errno.h>
#include <stdlib.h>

#include "recording.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

struct ktb_zstd {
	ZSTD_DCtx *in;
};

struct ktb_zstd *ktb_zstd_new_reader(void)
{
	struct ktb_zstd *zstd = calloc(1, sizeof(*zstd));

	if (zstd)
		zstd->in = ZSTD_createDCtx();
	if (zstd && !zstd->in) {
		free(zstd);
		return NULL;
	}
	return zstd;
}

void ktb_zstd_free(struct ktb_zstd *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeDCtx(zstd->in);
	free(zstd);
}

/* Expand what fits into *@len bytes, which becomes how many came out. */
int ktb_zstd_expand(struct ktb_zstd *zstd, struct ktb_cursor *from, uint8_t *to, size_t *len)
{
	ZSTD_inBuffer in = { from->at, ktb_left(from), 0 };
	ZSTD_outBuffer out = { to, *len, 0 };
	size_t before, ret;

	do {
		before = in.pos + out.pos;
		ret = ZSTD_decompressStream(zstd->in, &out, &in);
		if (ZSTD_isError(ret))
			return -EIO;
	} while (out.pos < out.size && in.pos + out.pos != before);
	from->at += in.pos;
	*len = out.pos;
	return 0;
}

/* ---- compressing ---- */

#define RECORD_COMPRESSED 81

struct ktb_zstd_writer {
	ZSTD_CCtx *out;
};

struct ktb_zstd_writer *ktb_zstd_new_writer(int level)
{
	struct ktb_zstd_writer *zstd = calloc(1, sizeof(*zstd));

	if (zstd)
		zstd->out = ZSTD_createCCtx();
	if (!zstd || !zstd->out ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(zstd->out, ZSTD_c_compressionLevel, level))) {
		ktb_zstd_free_writer(zstd);
		return NULL;
	}
	return zstd;
}

void ktb_zstd_free_writer(struct ktb_zstd_writer *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeCCtx(zstd->out);
	free(zstd);
}

/* One record; readers want each to expand to something by itself. */
static int pack_part(struct ktb_zstd_writer *zstd, ZSTD_inBuffer *in, ZSTD_EndDirective end,
		     struct ktb_blob *blob)
{
	struct perf_event_header header = { RECORD_COMPRESSED, 0, 0 };
	const size_t start = blob->len;
	ZSTD_outBuffer out = { 0 };
	size_t left;

	ktb_blob_put(blob, &header, sizeof(header));
	ktb_blob_put(blob, NULL, ZSTD_COMPRESSBOUND(KTB_ZSTD_PART));
	if (blob->failed)
		return -ENOMEM;
	out.dst = blob->data + start + sizeof(header);
	out.size = ZSTD_COMPRESSBOUND(KTB_ZSTD_PART);
	left = ZSTD_compressStream2(zstd->out, &out, in, end);
	if (left || in->pos < in->size)
		return -EIO;
	header.size = (uint16_t)(sizeof(header) + out.pos);
	memcpy(blob->data + start, &header, sizeof(header));
	blob->len = start + header.size;
	return 0;
}

/*
 * Add compressed records to @blob. All of @data becomes one frame, so that blocks
 * of several threads can follow each other in any order.
 */
int ktb_zstd_pack(struct ktb_zstd_writer *zstd, const void *data, size_t len, struct ktb_blob *blob)
{
	ZSTD_inBuffer in = { data, 0, 0 };
	int err = 0;

	ZSTD_CCtx_reset(zstd->out, ZSTD_reset_session_only);
	while (!err && in.pos < len) {
		in.size = len - in.pos > KTB_ZSTD_PART ? in.pos + KTB_ZSTD_PART : len;
		err = pack_part(zstd, &in, in.size == len ? ZSTD_e_end : ZSTD_e_flush, blob);
	}
	return err;
}

int ktb_perfdata_check_compress(struct ktb_perfdata *file)
{
	if (file->level >= 0 && file->level <= ZSTD_maxCLevel())
		return 0;
	return ktb_perfdata_fail(file, -EINVAL, "zstd has levels from 1 to %d", ZSTD_maxCLevel());
}

#else /* HAVE_ZSTD */

struct ktb_zstd_writer *ktb_zstd_new_writer(int level)
{
	(void)level;
	return NULL;
}

void ktb_zstd_free_writer(struct ktb_zstd_writer *zstd)
{
	(void)zstd;
}

int ktb_zstd_pack(struct ktb_zstd_writer *zstd, const void *data, size_t len, struct ktb_blob *blob)
{
	(void)zstd;
	(void)data;
	(void)len;
	(void)blob;
	return -EOPNOTSUPP;
}

int ktb_perfdata_check_compress(struct ktb_perfdata *file)
{
	return file->level ?
		       ktb_perfdata_fail(file, -EOPNOTSUPP,
					 "it cannot be compressed: this was built without zstd") :
		       0;
}

struct ktb_zstd *ktb_zstd_new_reader(void)
{
	return NULL;
}

void ktb_zstd_free(struct ktb_zstd *zstd)
{
	(void)zstd;
}

int ktb_zstd_expand(struct ktb_zstd *zstd, struct ktb_cursor *from, uint8_t *to, size_t *len)
{
	(void)zstd;
	(void)from;
	(void)to;
	(void)len;
	return -EOPNOTSUPP;
}

#endif /* HAVE_ZSTD */
