/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Three BPF programs, as a compiler would make them of C, for ktbctl --bpf: no test is to
 * need such a compiler. An instruction is 8 bytes: code, registers, offset, number.
 */

/* Where the system call's number is depends on the size of the common fields. */
#ifndef ID_AT
#define ID_AT	8
#endif

/* raw_syscalls:sys_enter: return *(u64 *)(record + ID_AT) == 0; which is system call 0, read */
	.section "tracepoint", "ax"
	.globl	only_reads
	.type	only_reads, @function
only_reads:
	.byte	0x79, 0x10, ID_AT, 0, 0, 0, 0, 0	/* r0 = *(u64 *)(r1 + ID_AT) */
	.byte	0x15, 0x00, 2, 0, 0, 0, 0, 0	/* if (r0 == 0) goto pass */
	.byte	0xb7, 0x00, 0, 0, 0, 0, 0, 0	/* r0 = 0 */
	.byte	0x95, 0x00, 0, 0, 0, 0, 0, 0	/* return r0 */
	.byte	0xb7, 0x00, 0, 0, 1, 0, 0, 0	/* pass: r0 = 1 */
	.byte	0x95, 0x00, 0, 0, 0, 0, 0, 0
	.size	only_reads, . - only_reads

/* return 0; */
	.section "perf_event", "ax"
	.globl	nothing
	.type	nothing, @function
nothing:
	.byte	0xb7, 0x00, 0, 0, 0, 0, 0, 0
	.byte	0x95, 0x00, 0, 0, 0, 0, 0, 0
	.size	nothing, . - nothing

/* return r0, which nothing was put into: the verifier does not take it */
	.globl	refused
	.type	refused, @function
refused:
	.byte	0x95, 0x00, 0, 0, 0, 0, 0, 0
	.size	refused, . - refused

	.section "license", "aw"
	.asciz	"GPL"
