/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocations that fail on request: failslab and fail_page_alloc. */
#ifndef KTB_FAULTS_H
#define KTB_FAULTS_H

#define KTB_FAILSLAB	"/sys/kernel/debug/failslab/"
#define KTB_FAILPAGE	"/sys/kernel/debug/fail_page_alloc/"

/*
 * Let allocations that may sleep fail too, which by default they do not, those of
 * single pages, and none of kmemleak's own. Which fail, and whose, is to be said
 * afterwards. Returns 0, or a negative errno: -ENOENT where the kernel cannot.
 */
int ktb_faults_init(void);

#endif
