/* SPDX-License-Identifier: MIT */
#include "unwind/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/report.h"

#ifdef PINJECT_LIBUNWIND
#include "unwind/libunwind_engine.h"
#endif

struct unwind_engine {
    struct libunwind_engine *libunwind; /* NULL: our own engine */
};

int unwind_engine_take(void *state, const struct option_row *row, const char *value)
{
    static const char *const words[] = {"auto", "tables", "libunwind"};
    int kind = UNWIND_ENGINE_AUTO;
    while (kind <= UNWIND_ENGINE_LIBUNWIND && strcmp(value, words[kind]) != 0)
        kind++;
    if (kind > UNWIND_ENGINE_LIBUNWIND) {
        report_error("option '--%s' takes auto, tables or libunwind, not '%s'", row->name, value);
        return -EINVAL;
    }
#ifndef PINJECT_LIBUNWIND
    if (kind == UNWIND_ENGINE_LIBUNWIND) {
        report_error("option '--%s=libunwind': this build has no libunwind; use --%s=tables", row->name, row->name);
        return -EINVAL;
    }
#endif
    *(int *)((char *)state + row->offset) = kind;
    return 0;
}

struct unwind_engine *unwind_engine_new(int kind)
{
    struct unwind_engine *engine = calloc(1, sizeof(*engine));
#ifdef PINJECT_LIBUNWIND
    if (engine && kind == UNWIND_ENGINE_LIBUNWIND) {
        engine->libunwind = libunwind_engine_new();
        if (!engine->libunwind) {
            free(engine);
            return NULL;
        }
    }
#else
    (void)kind;
#endif
    return engine;
}

void unwind_engine_free(struct unwind_engine *engine)
{
#ifdef PINJECT_LIBUNWIND
    if (engine)
        libunwind_engine_free(engine->libunwind);
#endif
    free(engine);
}

unsigned unwind_engine_stack(struct unwind_engine *engine, uint64_t version, const struct unwind_target *target,
                             const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                             unsigned capacity, struct unwind_outcome *ret)
{
#ifdef PINJECT_LIBUNWIND
    if (engine->libunwind) {
        struct libunwind_outcome outcome;
        unsigned count = libunwind_engine_stack(engine->libunwind, version, target, regs, dump, ips, capacity,
                                                &outcome);
        const bool sure = !outcome.guessed || outcome.end != UNWIND_BOTTOM;
        *ret = (struct unwind_outcome){.end = sure ? outcome.end : UNWIND_NO_TABLE, .top = outcome.top};
        return count;
    }
#else
    (void)engine;
    (void)version;
#endif
    return unwind_stack(target, regs, dump, ips, capacity, ret);
}
