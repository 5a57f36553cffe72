/* SPDX-License-Identifier: MIT */
/* Situations for test_doctor_lines: what --doctor has found out, and what the machine says when it is asked. */
#ifndef UNIT_DOCTOR_SCENE_H
#define UNIT_DOCTOR_SCENE_H

#include "machine_fake.h"

#include "collector/doctor/doctor_probe.h"

/* All works; a situation changes some of it. */
extern struct doctor_shared shared;
extern struct settings settings;
extern struct doctor_args args;
extern struct doctor_facts facts;
extern char directory[64];              /* the working directory */
extern char scene_preload[128];         /* a file that a situation has made; "": none */
extern const char *listed, *complained; /* what the command's loader says */

#define SITUATION(function) \
    {                       \
#function, function \
    }
struct situation {
    const char *name; /* NULL: the end */
    void (*set)(void);
};
extern const struct situation scene_events[], scene_places[], scene_commands[];

/* Not root, without rights. */
void scene_be_user(void);

#endif
