/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of sysfs, procfs and the like, whose contents are one text. */
#ifndef KTB_FILE_H
#define KTB_FILE_H

/* Write @text at once. Returns 0 or a negative errno. */
int ktb_write_file(const char *path, const char *text);

#endif
