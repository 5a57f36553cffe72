/* SPDX-License-Identifier: MIT */
/*
 * The document of `panalyze report --json` as a profile, for comparisons without the result files and programs. It has
 * the self weight of each function, and the weight of each command. It does not say which command was in which
 * function, and has no call chains.
 */
#ifndef ANALYZE_MODEL_JSON_DOCUMENT_H
#define ANALYZE_MODEL_JSON_DOCUMENT_H

#include "analyze/model/profile.h"

/* Whether PATH is a file that begins like a JSON object. */
bool document_is(const char *path);
/*
 * Like profile_load(); of OPTIONS it uses only event and session. Each entry is the self weight of a function, with a
 * stack of that one frame; profile->commands has the commands. -EINVAL after a message that names PATH: it is no such
 * document, or has only some functions or tasks. -ENOMEM without a message.
 */
int document_load(const char *path, const struct profile_options *options, struct profile **ret);

#endif
