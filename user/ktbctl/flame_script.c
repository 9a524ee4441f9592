// SPDX-License-Identifier: GPL-2.0-only
/* flame.js, as a string. */
#include "flame.h"

__asm__(".pushsection .rodata\n"
	".global flame_script\n"
	"flame_script:\n"
	".incbin \"ktbctl/flame.js\"\n"
	".byte 0\n"
	".popsection\n");
