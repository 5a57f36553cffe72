/* SPDX-License-Identifier: MIT */
/*
 * Whether a seccomp filter, which the program is about to put on itself, would do to the preload object's system calls
 * more than allow or refuse them: end a thread or the process, raise a signal, ask a tracer or a supervisor, write to
 * the log. None of that may come from calls that the program never made. Some may not be refused either. Context: any
 * thread, signal handlers, vfork children; the program must be readable.
 */
#ifndef PINJECT_PRELOAD_FILTER_H
#define PINJECT_PRELOAD_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a filter answers to one call; false for a program that the kernel would not accept. */
bool pinject_filter_run(const struct sock_filter *code, size_t length, const struct seccomp_data *data,
                        uint32_t *ret_action);

/* Whether one of the calls that requests and hooks make would be harmed, or it cannot be told. */
bool pinject_filter_harms(const struct sock_filter *code, size_t length);

/* Whether one of those that the sampler makes (timer.h) would be. */
bool pinject_filter_harms_timers(const struct sock_filter *code, size_t length);

/* Whether one of those that a change of the user takes (session.c) would be. */
bool pinject_filter_harms_user(const struct sock_filter *code, size_t length);

/* Whether pinject_safe_read() would be. */
bool pinject_filter_harms_safe_read(const struct sock_filter *code, size_t length);

#endif
