/* SPDX-License-Identifier: MIT */
/* The closing summary of pinject-run on stderr. */
#ifndef COLLECTOR_SUMMARY_H
#define COLLECTOR_SUMMARY_H

#include "collector/config/settings.h"
#include "collector/outcome.h"
#include "collector/output/result.h"
#include "collector/sources/session.h"

/* What was seen, what was not, and what to type next, in a few lines. With settings->quiet only errors of the files. */
void summary_print(const struct session *session, const struct results *results, const struct outcome *outcome,
                   const struct settings *settings);
/*
 * For --strict: reports each reason why the profile is incomplete, even when quiet; returns how many there are. What
 * the options exclude is no reason.
 */
unsigned summary_incomplete(const struct session *session, const struct results *results,
                            const struct outcome *outcome);

#endif
