/* SPDX-License-Identifier: MIT */
#include "collector/events/event_breakpoint.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/events/event_symbol.h"

static int parse_number(const char *text, uint64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    *ret = strtoull(text, &end, text[0] == '0' && tolower((unsigned char)text[1]) == 'x' ? 16 : 10);
    return errno || *end ? -EINVAL : 0;
}

/* "rw": the kinds of access; 0: it is no such text. */
static uint32_t parse_kind(const char *text)
{
    uint32_t kind = 0;
    for (; *text; text++) {
        const uint32_t bit = *text == 'r'   ? HW_BREAKPOINT_R
                             : *text == 'w' ? HW_BREAKPOINT_W
                             : *text == 'x' ? HW_BREAKPOINT_X
                                            : 0;
        if (!bit || kind & bit)
            return 0;
        kind |= bit;
    }
    return kind;
}

/* Execution and access to data exclude each other, x86 has no breakpoint for reading alone. */
static int check(const struct event_place *place, const struct perf_event_attr *attr)
{
    if (attr->bp_type & HW_BREAKPOINT_X && attr->bp_type != HW_BREAKPOINT_X)
        return event_error(place, NULL, NULL, "access kind x cannot be combined with r or w; write two events");
#if defined(__x86_64__)
    if (attr->bp_type == HW_BREAKPOINT_R)
        return event_error(place, NULL, NULL, "this CPU has no breakpoint for reads alone; use rw or w");
#endif
    if (attr->bp_len != 1 && attr->bp_len != 2 && attr->bp_len != 4 && attr->bp_len != 8)
        return event_error(place, NULL, NULL,
                           "a breakpoint cannot be %" PRIu64 " bytes long; use a length of 1, 2, 4 or 8",
                           (uint64_t)attr->bp_len);
    if (attr->bp_type == HW_BREAKPOINT_X && attr->bp_len != sizeof(long))
        return event_error(place, NULL, NULL, "access kind x always has the length %zu; leave the length out",
                           sizeof(long));
    return 0;
}

static int check_place(const struct event_place *place, const struct perf_event_attr *attr)
{
    if (attr->bp_type != HW_BREAKPOINT_X && attr->bp_addr % attr->bp_len)
        return event_error(place, NULL, NULL,
                           "address %#" PRIx64 " is not a multiple of the length %" PRIu64
                           "; use a shorter length or another address",
                           (uint64_t)attr->bp_addr, (uint64_t)attr->bp_len);
    return 0;
}

static int parse_place(const struct event_place *place, char *text, struct event_spec *spec)
{
    if (isdigit((unsigned char)*text)) {
        uint64_t address;
        if (parse_number(text, &address) < 0)
            return event_error(place, NULL, NULL, "invalid address '%s'; write it like 0x4010 or 16400", text);
        spec->attr.bp_addr = address;
        return 0;
    }
    char *plus = strrchr(text, '+');
    uint64_t added = 0;
    if (plus && parse_number(plus + 1, &added) == 0)
        *plus = '\0';
    if (!*text)
        return event_error(place, NULL, NULL, "the event has no address; write mem:ADDRESS/LENGTH:rw or mem:SYMBOL:w");
    spec->attr.bp_addr = added;
    spec->target_kind = EVENT_TARGET_SYMBOL;
    spec->target = strdup(text);
    return spec->target ? 0 : event_error(place, NULL, NULL, "no memory");
}

int event_breakpoint_parse(const struct event_place *place, char *text, struct event_spec *spec,
                           const char **ret_modifiers)
{
    struct perf_event_attr *attr = &spec->attr;
    char *colon = strchr(text, ':'), *modifiers = NULL;
    attr->type = PERF_TYPE_BREAKPOINT;
    attr->bp_type = HW_BREAKPOINT_RW;
    if (colon) {
        *colon++ = '\0';
        modifiers = strchr(colon, ':');
        if (modifiers)
            *modifiers++ = '\0';
        const uint32_t kind = parse_kind(colon);
        if (!kind && modifiers)
            return event_error(place, NULL, NULL, "unknown kind of access '%s'; use r, w, rw or x", colon);
        if (kind)
            attr->bp_type = kind;
        else
            modifiers = colon;
    }
    char *slash = strchr(text, '/');
    uint64_t length = attr->bp_type == HW_BREAKPOINT_X ? sizeof(long) : 4;
    if (slash) {
        *slash++ = '\0';
        if (parse_number(slash, &length) < 0)
            return event_error(place, NULL, NULL, "invalid length '%s'; use 1, 2, 4 or 8", slash);
    }
    attr->bp_len = length;
    int status = check(place, attr);
    if (status == 0)
        status = parse_place(place, text, spec);
    if (status == 0 && !spec->target)
        status = check_place(place, attr);
    *ret_modifiers = modifiers;
    return status;
}

int event_breakpoint_resolve(const struct event_place *place, const char *path, struct event_spec *spec)
{
    struct event_words words = {0};
    struct event_symbol symbol;
    if (spec->target_kind != EVENT_TARGET_SYMBOL)
        return 0;
    if (!path)
        return event_error(
            place, NULL, NULL,
            "symbol '%s' is looked up in the program of the command, but no command is given, or the command is not "
            "found; write an address instead",
            spec->target);
    int status = event_symbol_find(path, spec->target, &symbol, &words);
    if (status == -ENOENT)
        event_error(place, spec->target, &words, "'%s' has no symbol '%s'", path, spec->target);
    else if (status < 0)
        event_error(place, NULL, NULL, "'%s' cannot be read as an ELF file: %s", path, strerror(-status));
    else if (!symbol.fixed && !symbol.loader)
        status = event_error(
            place, NULL, NULL,
            "program '%s' is static and position-independent, so the address of '%s' is not known before the program "
            "runs; link the program with -no-pie, or, for code, use a uprobe: uprobe/path=FILE,symbol=%s/",
            path, spec->target, spec->target);
    event_words_release(&words);
    if (status < 0)
        return -EINVAL;
    spec->attr.bp_addr += symbol.address;
    spec->relative = !symbol.fixed;
    spec->program = symbol.program;
    spec->target_kind = EVENT_TARGET_NONE; /* it is found */
    return check_place(place, &spec->attr);
}
