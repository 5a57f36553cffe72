/* SPDX-License-Identifier: MIT */
/*
 * The document of `panalyze report --json` as a profile, for comparisons: who has kept it needs neither the result
 * files nor the programs any more. It says what each function had by itself, and what each command had; not which
 * command was in which function, and no call chains.
 */
#ifndef ANALYZE_MODEL_JSON_DOCUMENT_H
#define ANALYZE_MODEL_JSON_DOCUMENT_H

#include "analyze/model/profile.h"

/* Whether PATH is a file that begins like a JSON object. */
bool document_is(const char *path);
/*
 * As profile_load(), of OPTIONS event and session alone. An entry is what a function had by itself, whose stack it is
 * alone; the profile's commands are what the commands had. -EINVAL after a message that names PATH: no such document,
 * or one of only some functions or tasks. -ENOMEM without a message.
 */
int document_load(const char *path, const struct profile_options *options, struct profile **ret);

#endif
