/* SPDX-License-Identifier: MIT */
/* A session of --doctor's own, in which a shell is started like any command. */
#ifndef COLLECTOR_DOCTOR_DOCTOR_INJECT_H
#define COLLECTOR_DOCTOR_DOCTOR_INJECT_H

/*
 * FACTS: struct doctor_facts, after the event configuration was tried. Context: a guarded child; complaints go to
 * stderr.
 */
void doctor_inject_try(void *facts);

#endif
