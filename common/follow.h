/* SPDX-License-Identifier: MIT */
/* The values of --follow and PINJECT_FOLLOW: which tasks to profile. Flags are those of enum pinject_session_flags. */
#ifndef COMMON_FOLLOW_H
#define COMMON_FOLLOW_H

#include <stdbool.h>

#define FOLLOW_TEXT 40 /* room for any of follow_text() */

/*
 * LIST: names separated by commas: fork, vfork, pthread or threads, exec, all, none. *ret_flags: their union. 0, or
 * -EINVAL after a message.
 */
int follow_parse(const char *list, unsigned *ret_flags);
/* Writes FLAGS in the form of follow_parse(): "all", "none", "fork,exec". RET has room for FOLLOW_TEXT and is
 * returned. */
char *follow_text(char *ret, unsigned flags);
bool follow_is_all(unsigned flags);

#endif
