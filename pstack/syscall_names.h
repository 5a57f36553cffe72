/* SPDX-License-Identifier: MIT */
/* Names of system calls of this machine; private to pstack/. */
#ifndef PSTACK_SYSCALL_NAMES_H
#define PSTACK_SYSCALL_NAMES_H

/* NULL: the headers that this was built with have no such number. */
const char *syscall_name(long number);

#endif
