/* SPDX-License-Identifier: MIT */
#include "collector/settings_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "collector/config/dump_event.h"
#include "collector/config/sample_words.h"
#include "collector/settings_parse.h"
#include "common/report.h"

static int take_registers(struct settings_line *line, const struct option_row *row, const char *value, uint64_t *ret)
{
    if (value && strcmp(value, "?") == 0 && line->action != SETTINGS_COLLECT) {
        line->action = SETTINGS_LIST_REGS;
        return 0;
    }
    *ret = sample_words_all_registers();
    return value && strcasecmp(value, "all") != 0 ? sample_words_registers(row->name, value, ret) : 0;
}

int settings_take_user_regs(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    return take_registers(line, row, value, &line->settings.user_regs);
}

int settings_take_intr_regs(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    return take_registers(line, row, value, &line->settings.intr_regs);
}

int settings_take_branches(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    (void)row;
    if (settings->branches) {
        report_error("options --branch-any (-b) and --branch-filter (-j) exclude each other; give one of them, once");
        return -EINVAL;
    }
    return sample_words_branches(value ? value : "any", &settings->branches);
}

int settings_take_overflow_block(void *state, const struct option_row *row, const char *value)
{
    (void)state;
    (void)value;
    report_error("option '--%s' is not possible: the kernel cannot block a thread while its ring buffer is full. Leave "
                 "the option out: pinject-run reads ring buffers before they are full, and the summary counts lost "
                 "samples",
                 row->name);
    return -EINVAL;
}

/*
 * The kernel shortens a dump so that what it has written by then fits into a record, and writes the registers of the
 * interrupt after it. So long call chains and the data of tracepoints need room of their own.
 */
enum { DUMP_BEFORE_REGISTERS = STACKS_DUMP_MAX - 12 * 1024 };

int settings_check_samples(const struct settings *settings)
{
    if (settings->intr_regs && settings->dump > DUMP_BEFORE_REGISTERS) {
        report_error("with --intr-regs, a stack dump can have at most %d bytes, not %" PRIu32, DUMP_BEFORE_REGISTERS,
                     settings->dump);
        return -EINVAL;
    }
    const char *given = settings->data            ? "data"
                        : settings->sample_cpu    ? "sample-cpu"
                        : settings->values        ? "smpl-values"
                        : settings->user_regs     ? "user-regs"
                        : settings->intr_regs     ? "intr-regs"
                        : settings->switch_events ? "switch-events"
                        : settings->branches      ? "branch-filter"
                        : settings->saturate      ? "saturate-smpl-buffer"
                        : settings->sampler       ? "sampler"
                                                  : NULL;
    if (!settings->stat || !given)
        return 0;
    report_error("option '--%s' is for samples, and --stat takes none; leave out one of them", given);
    return -EINVAL;
}
