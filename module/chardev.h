/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_CHARDEV_H
#define _KTB_CHARDEV_H

int ktb_chardev_init(void);
void ktb_chardev_exit(void);

#endif /* _KTB_CHARDEV_H */
