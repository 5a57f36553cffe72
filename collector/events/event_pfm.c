/* SPDX-License-Identifier: MIT */
#include "collector/events/event_pfm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef PINJECT_PFM
#include <perfmon/pfmlib_perf_event.h>

#include "common/dlsym.h"

/*
 * The library is loaded when an event's name is looked up in it: its tables have so many relocations that a program
 * which is linked to it starts 7 ms later.
 */
static struct {
    bool tried; /* once in a process; the library stays loaded */
    bool ready;
    __typeof__(pfm_initialize) *initialize;
    __typeof__(pfm_get_version) *get_version;
    __typeof__(pfm_strerror) *strerror;
    __typeof__(pfm_get_os_event_encoding) *get_os_event_encoding;
    __typeof__(pfm_get_pmu_info) *get_pmu_info;
    __typeof__(pfm_get_event_next) *get_event_next;
    __typeof__(pfm_get_event_info) *get_event_info;
    __typeof__(pfm_get_event_attr_info) *get_event_attr_info;
} pfm;

static bool load_library(void)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"pfm_initialize", &pfm.initialize},
        {"pfm_get_version", &pfm.get_version},
        {"pfm_strerror", &pfm.strerror},
        {"pfm_get_os_event_encoding", &pfm.get_os_event_encoding},
        {"pfm_get_pmu_info", &pfm.get_pmu_info},
        {"pfm_get_event_next", &pfm.get_event_next},
        {"pfm_get_event_info", &pfm.get_event_info},
        {"pfm_get_event_attr_info", &pfm.get_event_attr_info},
    };
    void *library = dlopen(PINJECT_PFM, RTLD_LAZY | RTLD_LOCAL);
    bool complete = library != NULL;
    for (size_t i = 0; complete && i < sizeof(functions) / sizeof(functions[0]); i++)
        complete = dlsym_function(library, functions[i].name, functions[i].function);
    return complete;
}

static bool is_ready(void)
{
    if (!pfm.tried)
        pfm.ready = load_library() && pfm.initialize() == PFM_SUCCESS;
    pfm.tried = true;
    return pfm.ready;
}

int event_pfm_encode(const char *text, struct event_spec *spec, const char **ret_why)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};
    char *full = NULL;
    pfm_perf_encode_arg_t argument = {.attr = &attr, .fstr = &full, .size = sizeof(argument)};
    if (!is_ready())
        return -ENOENT;
    const int status = pfm.get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
    free(full);
    if (status == PFM_ERR_NOTFOUND || status == PFM_ERR_NOTSUPP || status == PFM_ERR_INVAL)
        return -ENOENT;
    *ret_why = pfm.strerror(status);
    if (status != PFM_SUCCESS)
        return -EINVAL;
    attr.size = 0;
    /* Without a modifier it counts everything, as an event of another spelling does. */
    if (strchr(text, ':') == NULL)
        attr.exclude_hv = 0;
    spec->attr = attr;
    if (attr.sample_period)
        spec->says |= EVENT_SAYS_RATE;
    if (attr.exclude_user || attr.exclude_kernel)
        spec->says |= EVENT_SAYS_LEVEL;
    return 0;
}

const char *event_pfm_version(void)
{
    static char text[24]; /* of a library that does not change */
    if (!is_ready())
        return NULL;
    const int version = pfm.get_version();
    snprintf(text, sizeof(text), "%d.%d", PFM_MAJ_VERSION(version), PFM_MIN_VERSION(version));
    return text;
}

static void list_umasks(int event, const pfm_event_info_t *info, struct event_pfm_name name,
                        void (*show)(void *to, const struct event_pfm_name *name), void *to)
{
    for (int i = 0; i < info->nattrs; i++) {
        pfm_event_attr_info_t attr = {.size = sizeof(attr)};
        if (pfm.get_event_attr_info(event, i, PFM_OS_PERF_EVENT_EXT, &attr) != PFM_SUCCESS ||
            attr.type != PFM_ATTR_UMASK)
            continue;
        name.umask = attr.name;
        name.description = attr.desc;
        name.code = attr.code;
        show(to, &name);
    }
}

void event_pfm_list(void (*show)(void *to, const struct event_pfm_name *name), void *to)
{
    for (int number = 0; is_ready() && number < PFM_PMU_MAX; number++) {
        pfm_pmu_info_t pmu = {.size = sizeof(pmu)};
        if (pfm.get_pmu_info((pfm_pmu_t)number, &pmu) != PFM_SUCCESS || !pmu.is_present)
            continue;
        for (int event = pmu.first_event; event != -1; event = pfm.get_event_next(event)) {
            pfm_event_info_t info = {.size = sizeof(info)};
            if (pfm.get_event_info(event, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
                continue;
            struct event_pfm_name name = {pmu.name, pmu.desc, pmu.num_cntrs, info.name, NULL, info.desc, info.code};
            show(to, &name);
            list_umasks(event, &info, name, show, to);
        }
    }
}

#else

int event_pfm_encode(const char *text, struct event_spec *spec, const char **ret_why)
{
    (void)text, (void)spec, (void)ret_why;
    return -ENOENT;
}

const char *event_pfm_version(void)
{
    return NULL;
}

void event_pfm_list(void (*show)(void *to, const struct event_pfm_name *name), void *to)
{
    (void)show, (void)to;
}

#endif

static void add_word(void *to, const struct event_pfm_name *name)
{
    if (!name->umask)
        event_words_add(to, name->event);
}

void event_pfm_words(struct event_words *words)
{
    event_pfm_list(add_word, words);
}
