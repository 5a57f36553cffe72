/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: the text of -e, on three kinds of CPU (tests/data/pmus). Bytes that are no characters become those
 * that mean something, so that mutations of numbers reach the parser.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/events/event_list.h"
#include "tests/fuzz/fuzz.h"

static const struct event_sources cpus[] = {
    {.devices = FUZZ_DATA "/pmus/intel"}, {.devices = FUZZ_DATA "/pmus/amd"}, {.devices = FUZZ_DATA "/pmus/arm"}};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_list(struct event_list *list, int status)
{
    check(status < 0 ? !list->count && !list->items && !list->groups : list->count && list->count <= EVENTS_MAX);
    for (unsigned i = 0; i < list->count; i++) {
        const struct event_spec *spec = &list->specs[i];
        check(spec->name[0] && memchr(spec->name, '\0', sizeof(spec->name)) && spec->attr.size == 0);
        check(spec->leader || (i && spec->group && list->specs[i - 1].group == spec->group));
        check(spec->leader || (!spec->attr.pinned && !spec->attr.exclusive));
        check(!spec->target == (spec->target_kind == EVENT_TARGET_NONE));
    }
}

/* Messages go nowhere: it is enough that they are made. */
static void parse(const struct event_sources *sources, const char *text)
{
    static int saved = -1, nowhere;
    struct event_list list = {0};
    if (saved < 0) {
        saved = dup(2);
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    }
    dup2(nowhere, 2);
    const int status = event_list_parse(&list, sources, text);
    const int again = status < 0 ? 0 : event_list_set_each_level(&list, text, 0);
    event_list_filter(&list, text);
    event_list_set_levels(&list, EVENT_LEVEL_USER);
    dup2(saved, 2);
    check(again == 0 || again < 0);
    check_list(&list, status);
    event_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char letters[] = "{},:/=*'+-01xupkGDe?.";
    if (size < 1 || size > 4096)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    for (size_t i = 1; i < size; i++)
        text[i - 1] = data[i] >= ' ' && data[i] < 0x7f ? (char)data[i] : letters[data[i] % (sizeof(letters) - 1)];
    text[size - 1] = '\0';
    parse(&cpus[data[0] % 3], text);
    free(text);
    return 0;
}
