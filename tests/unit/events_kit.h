/* SPDX-License-Identifier: MIT */
/* Parsing events on the CPUs of tests/data/pmus, and with a tracefs that the test makes. */
#ifndef UNIT_EVENTS_KIT_H
#define UNIT_EVENTS_KIT_H

#include "check.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/stat.h>

#include "collector/events/event_list.h"
#include "common/report.h"

static const struct event_sources kit_intel = {.devices = TEST_DATA "/pmus/intel"};
static const struct event_sources kit_amd = {.devices = TEST_DATA "/pmus/amd"};
static const struct event_sources kit_arm = {.devices = TEST_DATA "/pmus/arm"};
__attribute__((unused)) static const struct event_sources *const kit_cpus[] = {&kit_intel, &kit_amd, &kit_arm};

static struct event_list kit_list;

/* The only event of TEXT; valid until the next call. */
__attribute__((unused)) static const struct event_spec *kit_one(const struct event_sources *sources, const char *text)
{
    event_list_release(&kit_list);
    if (event_list_parse(&kit_list, sources, text) < 0)
        fail_msg("'%s' was refused", text);
    assert_int_equal(kit_list.count, 1);
    return &kit_list.specs[0];
}

/* TEXT is refused by one line that has all of WORDS, which ends with NULL; the list stays as it was. */
__attribute__((unused)) static void kit_bad(const struct event_sources *sources, const char *text,
                                            const char *const *words)
{
    event_list_release(&kit_list);
    check_capture();
    const int status = event_list_parse(&kit_list, sources, text);
    const char *said = check_captured();
    if (status != -EINVAL)
        fail_msg("'%s' was accepted", text);
    assert_int_equal(kit_list.count, 0);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    for (; *words; words++)
        if (!strstr(said, *words))
            fail_msg("'%s': '%s' does not say '%s'", text, said, *words);
}
#define KIT_BAD(sources, text, ...) kit_bad(sources, text, (const char *const[]){__VA_ARGS__, NULL})

/* A file of TEXT at ROOT/PATH, with its directories. */
__attribute__((unused)) static void kit_file(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *at = full + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *to = fopen(full, "w");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

/* A directory of its own in RET[64]; kit_remove() removes it. */
__attribute__((unused)) static const char *kit_directory(char *ret)
{
    strcpy(ret, "/tmp/pinject-events-XXXXXX");
    assert_non_null(mkdtemp(ret));
    return ret;
}
__attribute__((unused)) static void kit_remove(const char *directory)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", directory);
    assert_int_equal(system(command), 0);
}

#define KIT_MAIN(...)                                                 \
    int main(void)                                                    \
    {                                                                 \
        const struct CMUnitTest tests[] = {__VA_ARGS__};              \
        report_program("test");                                       \
        const int failed = cmocka_run_group_tests(tests, NULL, NULL); \
        event_list_release(&kit_list);                                \
        return failed;                                                \
    }
#define T cmocka_unit_test

#endif
