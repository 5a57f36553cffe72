/* SPDX-License-Identifier: MIT */
/*
 * What --doctor says of one situation after the other, against tests/data/golden/doctor.txt: the whole page of some,
 * and of the others the findings that differ from a machine on which all works.
 */
#define _GNU_SOURCE
#include "doctor_scene.h"

#include <elf.h>
#include <errno.h>
#include <pinject/wire.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/report.h"

struct doctor_shared shared;
struct settings settings;
struct doctor_args args;
struct doctor_facts facts;
char directory[64], scene_preload[128];
const char *listed, *complained;

/* ---- In the place of the trials ---- */

int __wrap_doctor_facts_init(struct doctor_facts *ret, const struct doctor_args *given);
int __wrap_doctor_facts_init(struct doctor_facts *ret, const struct doctor_args *given)
{
    assert_ptr_equal(given, &args);
    *ret = facts;
    return facts.shared ? 0 : -ENOMEM;
}

void __wrap_doctor_facts_release(struct doctor_facts *given);
void __wrap_doctor_facts_release(struct doctor_facts *given)
{
    given->shared = NULL;
}

void __wrap_doctor_guard_program(const char *const *argv, const char *preload, struct doctor_guarded *ret, char *out,
                                 unsigned long size);
void __wrap_doctor_guard_program(const char *const *argv, const char *preload, struct doctor_guarded *ret, char *out,
                                 unsigned long size)
{
    assert_string_equal(argv[0], facts.executable.loader);
    assert_string_equal(argv[1], "--list");
    assert_string_equal(argv[2], facts.executable.path);
    assert_null(argv[3]);
    assert_string_equal(preload, args.preload);
    *ret = (struct doctor_guarded){.tried = true};
    snprintf(ret->said, sizeof(ret->said), "%s", complained);
    snprintf(out, size, "%s", listed);
}

/* ---- A machine on which all works ---- */

static void config_usual(struct event_config *config)
{
    static const char *const names[] = {"cycles", "task-clock", "page-faults", "context-switches"};
    *config = (struct event_config){.count = 4, .sampling = 1, .ring_pages = 16, .thread_ring_pages = 8};
    for (unsigned i = 0; i < 4; i++)
        strcpy(config->events[i].name, names[i]);
}

static void set_usual(void)
{
    static char name[] = "./prog";
    static char *command[] = {name, NULL};
    machine_fake_init();
    machine_fake.limits[RLIMIT_NOFILE] = (struct rlimit){1024, 65536};
    setenv("TMPDIR", directory, 1);
    settings = (struct settings){.outfile = "out", .frequency = 999, .follow = PINJECT_SESSION_ALL, .command = command};
    args = (struct doctor_args){.settings = &settings, .preload = "/dev/null", .preload_error = ""};
    memset(&shared, 0, sizeof(shared));
    shared.refusal = -EINVAL;
    shared.timer_fired = true;
    shared.notified = shared.maps = true;
    shared.cost = (struct doctor_cost){.samples = 60, .ns = 4321};
    config_usual(&shared.config);
    facts = (struct doctor_facts){.args = &args, .container = "", .paranoid = 2, .self = "/usr/bin/pinject-run"};
    facts.shared = &shared;
    facts.status = (struct doctor_status){.capabilities = UINT64_MAX, .bounding = UINT64_MAX};
    facts.perf.tried = facts.config.tried = facts.cost.tried = facts.timer.tried = facts.injection.tried = true;
    facts.executable = (struct doctor_executable){.kind = DOCTOR_EXECUTABLE_DYNAMIC,
                                                  .path = "/opt/prog",
                                                  .chain = "./prog",
                                                  .loader = "/lib64/ld-linux-x86-64.so.2",
                                                  .elf_class = ELFCLASS64,
                                                  .machine = EM_X86_64,
                                                  .mode = 0755};
    listed = "/dev/null (0x7f)\nlibc.so.6";
    complained = "";
}

void scene_be_user(void)
{
    facts.uid = 1000;
    facts.gid = 100;
    facts.status.capabilities = 0;
}

/* ---- The pages ---- */

/* What doctor_run() prints of the facts; to be freed. */
static char *page(bool *ret_full)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    *ret_full = doctor_run(&args, to);
    fclose(to);
    return text;
}

/* A finding begins with its level at the third column; the first paragraph is the verdict. */
static char *next_block(char **at)
{
    char *start = *at, *end = start;
    if (!*start)
        return NULL;
    do {
        end += strcspn(end, "\n");
        end += *end == '\n';
    } while (*end && !(strncmp(end, "  ", 2) == 0 && end[2] != ' ') && *end != '\n');
    *at = end;
    return strndup(start, (size_t)(end - start));
}

/* Blocks of TEXT that USUAL does not have. */
static void show_changes(struct buffer *to, char *text, const char *usual)
{
    char *block;
    while ((block = next_block(&text))) {
        if (!strstr(usual, block))
            buffer_printf(to, "%s", block);
        free(block);
    }
}

static void show_situations(struct buffer *to, const struct situation *situation, const char *usual)
{
    bool full;
    for (; situation->name; situation++) {
        set_usual();
        situation->set();
        char *now = page(&full);
        buffer_printf(to, "\n==== %s: %s\n", situation->name, full ? "in full" : "not in full");
        show_changes(to, now, usual);
        free(now);
    }
}

static void situations_are_explained(void **state)
{
    struct buffer text = BUFFER_INIT;
    bool full;
    (void)state;
    set_usual();
    char *usual = page(&full), size[32];
    assert_true(full);
    settings.command = NULL;
    char *without = page(&full);
    assert_true(full);
    buffer_printf(&text, "%s\n==== without a command\n%s", usual, without);
    show_situations(&text, scene_events, usual);
    show_situations(&text, scene_places, usual);
    show_situations(&text, scene_commands, usual);
    set_usual();
    scene_be_user();
    shared.user = shared.kernel = shared.cycles = shared.config_status = -EACCES;
    facts.paranoid = 3;
    settings.command = NULL;
    char *worst = page(&full);
    assert_false(full);
    buffer_printf(&text, "\n==== a whole page\n%s", worst);
    buffer_append(&text, "", 1);
    assert_false(buffer_failed(&text));
    /* It is of no interest here, and grows. */
    snprintf(size, sizeof(size), "%zu KiB", sizeof(struct pinject_segment) >> 10);
    char *all = check_replaced(check_replaced((char *)text.data, directory, "DIRECTORY"), size, "SOME KiB");
    check_golden("doctor", all);
    free(all);
    free(usual);
    free(without);
    free(worst);
}

static void nothing_can_be_tried(void **state)
{
    (void)state;
    bool full = true;
    set_usual();
    facts.shared = NULL;
    check_capture();
    char *text = page(&full);
    assert_string_equal(check_captured(), "pinject-run: --doctor cannot check anything: Cannot allocate memory\n");
    assert_false(full);
    assert_string_equal(text, "");
    free(text);
}

static int set_up(void **state)
{
    (void)state;
    report_program("pinject-run");
    strcpy(directory, "/tmp/pinject-unit-XXXXXX");
    return !mkdtemp(directory) || chdir(directory) || chmod(directory, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    if (scene_preload[0])
        unlink(scene_preload);
    return chdir("/") || rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(situations_are_explained),
        cmocka_unit_test(nothing_can_be_tried),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
