// SPDX-License-Identifier: GPL-2.0-only
/*
 * A deliberate WARN, for the test that the virtual machine's verdict sees one.
 */

#include <linux/bug.h>
#include <linux/module.h>

static int __init ktb_warn_init(void)
{
	WARN(1, "deliberate\n");
	return 0;
}
module_init(ktb_warn_init);

MODULE_DESCRIPTION("A deliberate WARN");
MODULE_LICENSE("GPL");
