/* SPDX-License-Identifier: MIT */
#include "collector/events/event_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/events/event_symbol.h"

bool event_probe_is_of(const char *pmu)
{
    return strcmp(pmu, "uprobe") == 0 || strcmp(pmu, "kprobe") == 0;
}

static int set_target(const struct event_place *place, struct event_spec *spec, enum event_target kind,
                      const char *value)
{
    if (spec->target)
        return event_error(place, NULL, NULL, "the probe names two files or two functions; write two events");
    spec->target = strdup(value);
    spec->target_kind = kind;
    return spec->target ? 0 : event_error(place, NULL, NULL, "no memory");
}

static int take_file(const struct event_place *place, struct event_spec *spec, const char *value)
{
    if (access(value, R_OK) < 0)
        return event_error(place, NULL, NULL, "file '%s' cannot be read: %s", value, strerror(errno));
    return set_target(place, spec, EVENT_TARGET_FILE, value);
}

static int take_symbol(const struct event_place *place, struct event_spec *spec, const char *value)
{
    struct event_words words = {0};
    struct event_symbol symbol;
    if (!spec->target)
        return event_error(place, NULL, NULL, "term 'symbol' must come after path=FILE");
    int status = event_symbol_find(spec->target, value, &symbol, &words);
    if (status == -ENOENT)
        event_error(place, value, &words, "'%s' has no symbol '%s'", spec->target, value);
    else if (status < 0)
        event_error(place, NULL, NULL, "'%s' cannot be read as an ELF file: %s", spec->target, strerror(-status));
    else if (symbol.offset == UINT64_MAX)
        status = event_error(place, NULL, NULL,
                             "symbol '%s' of '%s' has no bytes in the file (it may be a variable in .bss)", value,
                             spec->target);
    event_words_release(&words);
    if (status < 0)
        return -EINVAL;
    spec->attr.probe_offset += symbol.offset;
    return 0;
}

static int take_number(const struct event_place *place, const char *name, const char *value, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(value, &end, 0);
    if (errno || *end || *value < '0' || *value > '9')
        return event_error(place, NULL, NULL, "term '%s' needs a number, not '%s'", name, value);
    return 0;
}

int event_probe_take(const struct event_place *place, struct event_spec *spec, const char *name, const char *value)
{
    const bool user = strcmp(spec->pmu, "uprobe") == 0;
    const bool known = strcmp(name, "offset") == 0 || strcmp(name, user ? "path" : "func") == 0 ||
                       strcmp(name, user ? "symbol" : "addr") == 0;
    if (!known)
        return -ENOENT;
    if (!value || !*value)
        return event_error(place, NULL, NULL, "term '%s' needs a value: write %s=...", name, name);
    if (strcmp(name, "path") == 0)
        return take_file(place, spec, value);
    if (strcmp(name, "symbol") == 0)
        return take_symbol(place, spec, value);
    if (strcmp(name, "func") == 0)
        return set_target(place, spec, EVENT_TARGET_FUNCTION, value);
    uint64_t number = 0;
    int status = take_number(place, name, value, &number);
    if (status == 0)
        spec->attr.probe_offset += number; /* the same bytes as kprobe_addr */
    return status;
}

int event_probe_finish(const struct event_place *place, struct event_spec *spec)
{
    spec->traces = true;
    if (strcmp(spec->pmu, "uprobe") == 0 && !spec->target)
        return event_error(place, NULL, NULL,
                           "a uprobe needs a file: write uprobe/path=FILE,symbol=NAME/ or uprobe/path=FILE,offset=N/");
    if (!spec->target && !spec->attr.kprobe_addr)
        return event_error(place, NULL, NULL,
                           "a kprobe needs a function or an address: write kprobe/func=NAME/ or kprobe/addr=N/");
    spec->attr.config1 = (uint64_t)(uintptr_t)spec->target;
    return 0;
}
