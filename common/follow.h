/* SPDX-License-Identifier: MIT */
/* What of a command is profiled, as --follow and PINJECT_FOLLOW name it. Flags are those of enum pinject_session_flags. */
#ifndef COMMON_FOLLOW_H
#define COMMON_FOLLOW_H

#include <stdbool.h>

#define FOLLOW_TEXT 40 /* room for any of follow_text() */

/*
 * LIST: names of parts with commas between them: fork, vfork, pthread or threads, exec, all, none. *RET_FLAGS: their
 * union. 0, or -EINVAL after a message.
 */
int follow_parse(const char *list, unsigned *ret_flags);
/* As follow_parse() takes it: "all", "none", "fork,exec". RET has room for FOLLOW_TEXT; it is returned. */
char *follow_text(char *ret, unsigned flags);
bool follow_is_all(unsigned flags);

#endif
