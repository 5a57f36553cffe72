/* SPDX-License-Identifier: MIT */
/*
 * Would a seccomp filter, which the program is about to install, do more to the preload object's system calls than
 * allow or refuse them: end a thread or the process, raise a signal, ask a tracer or a supervisor, write to the log?
 * None of that may come from calls that the program never made. Some calls may not be refused either. Context: any
 * thread, signal handlers, vfork children; the filter's program must be readable.
 */
#ifndef PINJECT_PRELOAD_FILTER_H
#define PINJECT_PRELOAD_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs the filter on one call; false for a program that the kernel would not accept. */
bool pinject_filter_run(const struct sock_filter *code, size_t length, const struct seccomp_data *data,
                        uint32_t *ret_action);

/* Would it harm one of the calls that requests and hooks make? True also if that is unknown. */
bool pinject_filter_harms(const struct sock_filter *code, size_t length);

/* Would it harm one of the sampler's calls (timer.h)? */
bool pinject_filter_harms_timers(const struct sock_filter *code, size_t length);

/* Would it harm one of the calls for a change of user (session.c)? */
bool pinject_filter_harms_user(const struct sock_filter *code, size_t length);

/* Would it harm pinject_safe_read()? */
bool pinject_filter_harms_safe_read(const struct sock_filter *code, size_t length);

#endif
