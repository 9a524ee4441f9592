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

#else /* HAVE_ZSTD */

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
