/* SPDX-License-Identifier: MIT */
#ifndef TARGETS_EARLY_H
#define TARGETS_EARLY_H

extern const char *early_value;
extern int early_thread, early_child;

#endif
