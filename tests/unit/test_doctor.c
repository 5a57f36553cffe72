/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <time.h>

#include "collector/config/probe.h"
#include "collector/doctor/doctor_probe.h"

enum { WANTED_PAGES = 16 };

static enum doctor_cause judge(int refusal, int user, int kernel, int64_t paranoid, bool perfmon, int seccomp)
{
    static struct doctor_shared found;
    found.refusal = refusal;
    found.user = user;
    found.kernel = kernel;
    return doctor_judge_perf(&found, false, paranoid, perfmon, seccomp);
}

static void perf_that_works(void **state)
{
    (void)state;
    assert_int_equal(judge(-EINVAL, 0, 0, 2, true, 0), DOCTOR_WORKS);
    /* A filter that lets it through is none. */
    assert_int_equal(judge(-EINVAL, 0, 0, -1, false, 2), DOCTOR_WORKS);
    assert_int_equal(judge(-EINVAL, 0, -EACCES, 2, false, 0), DOCTOR_USER_ONLY);
    assert_int_equal(judge(-EINVAL, 0, -EPERM, 2, false, 2), DOCTOR_USER_ONLY);
}

static void perf_that_is_refused(void **state)
{
    (void)state;
    static struct doctor_shared found;
    assert_int_equal(doctor_judge_perf(&found, true, 2, true, 2), DOCTOR_BY_SECCOMP_KILL);
    /* In front of the kernel: whatever the level is, and whatever the errno. */
    assert_int_equal(judge(-EPERM, -EPERM, -EPERM, 2, true, 2), DOCTOR_BY_SECCOMP);
    assert_int_equal(judge(-EACCES, -EACCES, -EACCES, 3, false, 2), DOCTOR_BY_SECCOMP);
    assert_int_equal(judge(-ENOSYS, -ENOSYS, -ENOSYS, 2, true, 2), DOCTOR_BY_SECCOMP);
    assert_int_equal(judge(-EPERM, -EPERM, -EPERM, 2, true, -1), DOCTOR_BY_SECCOMP);
    assert_int_equal(judge(-EPERM, -EPERM, -EPERM, 2, true, 0), DOCTOR_BY_SANDBOX);
    assert_int_equal(judge(-ENOSYS, -ENOSYS, -ENOSYS, INT64_MIN, true, 0), DOCTOR_NOT_IN_KERNEL);
    /* By the kernel. */
    assert_int_equal(judge(-EINVAL, -EACCES, -EACCES, 3, false, 0), DOCTOR_BY_PARANOID);
    assert_int_equal(judge(-EINVAL, -EACCES, -EACCES, 4, false, 2), DOCTOR_BY_PARANOID);
    assert_int_equal(judge(-EINVAL, -EACCES, -EACCES, 3, true, 0), DOCTOR_BY_MODULE);
    assert_int_equal(judge(-EINVAL, -EACCES, -EACCES, 2, false, 0), DOCTOR_BY_MODULE);
    assert_int_equal(judge(-EINVAL, -EMFILE, -EMFILE, 2, false, 0), DOCTOR_BY_DESCRIPTORS);
    assert_int_equal(judge(-EINVAL, -EINVAL, -EINVAL, 2, false, 0), DOCTOR_BY_OTHER);
}

static void status_of_a_process(void **state)
{
    (void)state;
    struct doctor_status status = doctor_parse_status(
        "Name:\tCapEff:\tff\nCapEff:\t000001ffffffffff\nCapBnd:\t0000000000000010\n"
        "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    assert_true(status.capabilities == 0x1ffffffffff);
    assert_true(status.bounding == 0x10);
    assert_int_equal(status.seccomp, 2);
    assert_true(status.no_new_privileges);
    status = doctor_parse_status("CapEff:");
    assert_true(status.capabilities == 0 && status.seccomp == -1 && !status.no_new_privileges);
    assert_int_equal(doctor_parse_status("").seccomp, -1);
}

static void maps_of_users(void **state)
{
    (void)state;
    assert_false(probe_is_user_namespace("         0          0 4294967295\n"));
    assert_true(probe_is_user_namespace("         0       1000          1\n"));
    assert_true(probe_is_user_namespace("0 0 65536\n"));
    assert_false(probe_is_user_namespace(""));
    assert_false(probe_is_user_namespace("junk"));
}

static void rings_within_a_budget(void **state)
{
    (void)state;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(doctor_count_rings(0, WANTED_PAGES, false), 0);
    assert_int_equal(doctor_count_rings(2 * page - 1, WANTED_PAGES, false), 0);
    assert_int_equal(doctor_count_rings(2 * page, WANTED_PAGES, false), 1);
    assert_int_equal(doctor_count_rings(64 * page, WANTED_PAGES, false), 32);
    /* Large enough for whole rings first, small ones at the end. */
    unsigned many = doctor_count_rings(2048 * page, 8, false);
    assert_true(many > 2048 / 9 && many < 2048 / 2);
    assert_true(doctor_count_rings(4096 * page, 8, false) > many);
    assert_true(doctor_count_rings(UINT64_MAX, 8, false) >= 100000);
    /* Rings for dumps of stacks are larger, for half of the memory. */
    unsigned with_dumps = doctor_count_rings(2048 * page, 64, true);
    assert_true(with_dumps < doctor_count_rings(2048 * page, 64, false));
    assert_true(with_dumps > doctor_count_rings(2048 * page, 64, false) / 2);
    assert_true(doctor_count_rings(UINT64_MAX, 8, true) >= 100000);
}

static void tasks_within_descriptors(void **state)
{
    (void)state;
    unsigned counted = 1;
    assert_int_equal(doctor_count_tasks(0, 5, &counted), 0);
    assert_int_equal(counted, 0);
    assert_int_equal(doctor_count_tasks(64, 5, &counted), 0);
    /* 75 % of 1024 for five each, then one each up to the 64 that are left alone. */
    assert_int_equal(doctor_count_tasks(1024, 5, &counted), 768 / 5 + 1024 - 64 - 768);
    assert_int_equal(counted, 768 / 5);
    assert_int_equal(doctor_count_tasks(1000, 0, &counted), 186);
    assert_true(doctor_count_tasks(UINT64_MAX, 5, &counted) == UINT32_MAX && counted == UINT32_MAX);
}

static const char *printed(const struct doctor_finding *finding, int width, bool color)
{
    static char text[8192];
    FILE *to = fmemopen(text, sizeof(text), "w");
    assert_non_null(to);
    doctor_print(to, "label", finding, width, color);
    fclose(to);
    return text;
}

static void findings_are_printed(void **state)
{
    (void)state;
    struct doctor_finding finding = {.level = DOCTOR_LIMITED};
    DOCTOR_TEXT(finding.value, "one two three");
    DOCTOR_TEXT(finding.meaning, "four");
    assert_string_equal(printed(&finding, 100, false), "  limited  label            one two three; four\n");
    assert_string_equal(printed(&finding, 40, false), "  limited  label            one two\n"
                                                      "                            three; four\n");
    doctor_remedy(&finding, "chmod a+r %s", "a file with a very long name");
    doctor_remedy(&finding, "second");
    assert_non_null(strstr(printed(&finding, 40, false),
                           "\n                          > chmod a+r a file with a very long name\n"
                           "                          > second\n"));
    assert_null(strchr(printed(&finding, 40, false), '\033'));
    assert_non_null(strstr(printed(&finding, 40, true), "\033[33mlimited  \033[0mlabel"));
}

static void hostile_texts_are_safe(void **state)
{
    (void)state;
    struct doctor_finding finding = {.level = DOCTOR_OK};
    char large[10000];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    DOCTOR_TEXT(finding.value, "a\033[2Jb\nc");
    assert_string_equal(finding.value, "a\\033[2Jb\\012c");
    DOCTOR_MORE(finding.value, "%s", " and more");
    assert_string_equal(finding.value, "a\\033[2Jb\\012c and more");
    DOCTOR_TEXT(finding.value, "%s", large);
    assert_int_equal(strlen(finding.value), sizeof(finding.value) - 1);
    DOCTOR_MORE(finding.value, "%s", "nothing fits");
    for (int i = 0; i < 40; i++)
        doctor_remedy(&finding, "%.500s", large);
    assert_true(strlen(finding.remedy) < sizeof(finding.remedy));
    assert_true(strlen(printed(&finding, 60, false)) > 0);
}

static void paths_are_words_of_a_shell(void **state)
{
    (void)state;
    char large[PATH_MAX];
    memset(large, '\'', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_string_equal(doctor_word("/usr/bin/x-1.2+3"), "/usr/bin/x-1.2+3");
    assert_string_equal(doctor_word("/a b"), "'/a b'");
    assert_string_equal(doctor_word("x'; rm -r ~; '"), "'x'\\''; rm -r ~; '\\'''");
    assert_string_equal(doctor_word("$(id)"), "'$(id)'");
    assert_string_equal(doctor_word("a\nb"), "FILE");
    assert_string_equal(doctor_word(""), "FILE");
    assert_string_equal(doctor_word(large), "FILE");
    large[600] = '\0';
    assert_string_equal(doctor_word(large), "FILE");
}

static void die(void *state)
{
    (void)state;
    abort();
}

static void complain(void *state)
{
    fprintf(stderr, "pinject-run: one\npinject-run: two\033\n");
    printf("not to be seen\n");
    *(int *)state = 7;
}

static void hang(void *state)
{
    (void)state;
    for (;;)
        pause();
}

static bool time_leaps; /* by a minute with each look */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    static time_t leaps;
    int status = __real_clock_gettime(clock, ret);
    if (time_leaps)
        ret->tv_sec += 60 * ++leaps;
    return status;
}

static void children_are_guarded(void **state)
{
    (void)state;
    const unsigned before = check_open_fds();
    struct doctor_guarded guarded;
    int mine = 0;
    char out[32], large[8];
    doctor_guard(die, NULL, DOCTOR_PATIENCE_MS, &guarded);
    assert_true(!guarded.tried && guarded.signal == SIGABRT && !guarded.late && !guarded.error);
    doctor_guard(hang, NULL, 10, &guarded);
    assert_true(!guarded.tried && guarded.signal == SIGKILL && guarded.late);
    doctor_guard(complain, &mine, DOCTOR_PATIENCE_MS, &guarded);
    assert_true(guarded.tried && guarded.signal == 0);
    assert_string_equal(guarded.said, "one; two\\033");
    assert_int_equal(mine, 0); /* it was another process */
    const char *const command[] = {"/bin/sh", "-c", "echo $LD_PRELOAD; echo said >&2", NULL};
    setenv("LD_PRELOAD", "/of/the/user.so", 1); /* it gives way */
    doctor_guard_program(command, "", &guarded, out, sizeof(out));
    unsetenv("LD_PRELOAD");
    assert_true(guarded.tried);
    assert_string_equal(out, "\n");
    assert_string_equal(guarded.said, "said");
    const char *const wordy[] = {"/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 3",
                                 NULL};
    doctor_guard_program(wordy, NULL, &guarded, large, sizeof(large));
    assert_string_equal(large, "0\n1\n2\n3");
    assert_true(!guarded.tried && guarded.signal == 0 && !guarded.late);
    const char *const missing[] = {"/no/such/program", NULL};
    doctor_guard_program(missing, NULL, &guarded, out, sizeof(out));
    assert_true(!guarded.tried);
    assert_string_equal(out, "");
    assert_non_null(strstr(guarded.said, "No such file"));
    const char *const endless[] = {"/bin/sh", "-c", "exec sleep 1000", NULL};
    time_leaps = true;
    doctor_guard_program(endless, NULL, &guarded, out, sizeof(out));
    time_leaps = false;
    assert_true(!guarded.tried && guarded.signal == SIGKILL && guarded.late);
    assert_int_equal(check_open_fds(), before); /* late ones, too, leave nothing open */
}

/* What the trial's shell has said stands behind what its silence means. */
static void what_the_loader_says(void **state)
{
    static const char *const said[][2] = {{"", "pinject cannot follow threads and children"},
                                          {"x", "pinject cannot follow threads and children; x"},
                                          {"ld.so: no", "pinject cannot follow threads and children; ld.so: no"}};
    static struct doctor_shared found;
    static struct doctor_args args = {.preload = "/opt/a b.so"};
    static struct doctor_facts facts = {.args = &args, .shared = &found};
    (void)state;
    facts.perf.tried = facts.injection.tried = true;
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        struct doctor_finding finding = {0};
        snprintf(facts.injection.said, sizeof(facts.injection.said), "%s", said[i][0]);
        doctor_injection(&facts, &finding);
        assert_int_equal(finding.level, DOCTOR_REFUSED);
        assert_string_equal(finding.meaning, said[i][1]);
        assert_non_null(strstr(finding.remedy, "LD_PRELOAD='/opt/a b.so' /bin/sh"));
    }
}

static void a_sample_is_the_median_of_the_longest_gaps(void **state)
{
    (void)state;
    uint32_t gaps[] = {400, 13000, 350, 12000, 900000, 14000, 600};
    assert_int_equal(doctor_median_gap(gaps, 7, 4), 13000); /* of 900000, 14000, 13000, 12000 */
    assert_int_equal(doctor_median_gap(gaps, 7, 100), 12000);
    assert_int_equal(doctor_median_gap(gaps, 1, 1), 900000);
    assert_int_equal(doctor_median_gap(gaps, 0, 5), 0);
    assert_int_equal(doctor_median_gap(gaps, 7, 0), 0);
}

static void samples_are_counted(void **state)
{
    (void)state;
    struct settings settings = {.frequency = 999};
    struct event_config config;
    if (event_config_init(&config, &settings) < 0 || config.source != PINJECT_SOURCE_PERF)
        skip();
    struct doctor_cost cost = {0};
    int next = dup(2);
    close(next);
    doctor_try_cost(&config, &cost);
    close(next); /* it is made for a child, which ends with its event */
    assert_int_equal(cost.status, 0);
    assert_true(cost.samples > 0);
    assert_true(cost.ns > 0); /* with no bound: others may have the CPU */
    event_config_release(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_that_works),
        cmocka_unit_test(perf_that_is_refused),
        cmocka_unit_test(status_of_a_process),
        cmocka_unit_test(maps_of_users),
        cmocka_unit_test(rings_within_a_budget),
        cmocka_unit_test(tasks_within_descriptors),
        cmocka_unit_test(a_sample_is_the_median_of_the_longest_gaps),
        cmocka_unit_test(samples_are_counted),
        cmocka_unit_test(findings_are_printed),
        cmocka_unit_test(hostile_texts_are_safe),
        cmocka_unit_test(paths_are_words_of_a_shell),
        cmocka_unit_test(children_are_guarded),
        cmocka_unit_test(what_the_loader_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
