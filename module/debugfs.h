/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_DEBUGFS_H
#define _KTB_DEBUGFS_H

void ktb_debugfs_init(void);
void ktb_debugfs_exit(void);

#endif /* _KTB_DEBUGFS_H */
