/* SPDX-License-Identifier: MIT */
/* Whose build ids are forgotten where there are too many. */
#include "check.h"

#include "collector/output/build_ids.h"
#include "collector/system/opener.h"

static opener_done *last_done;
static void *last_context;
static uint64_t asked_count;

uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context);
uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context)
{
    (void)opener;
    (void)file;
    assert_int_equal(kind, OPENER_ID);
    last_done = done;
    last_context = context;
    return ++asked_count;
}

static void answer_last(void)
{
    struct opener_answer given = {.fd = -1, .id_size = 20, .id = {7}};
    last_done(last_context, asked_count, &given);
}

enum { PID_OF_USER = 1 << 23 }; /* and a user's number: no process has such a number */

uid_t __wrap_procfs_uid(pid_t pid);
uid_t __wrap_procfs_uid(pid_t pid)
{
    assert_true(pid >= PID_OF_USER);
    return (uid_t)(pid - PID_OF_USER);
}

/* The first byte of its id; -1: there is none. */
static int known(struct buildids *buildids, unsigned number)
{
    const struct result_module module = {.maj = 8, .min = 1, .ino = number, .path = "/lib/one"};
    struct buildid id;
    return buildids_find(buildids, &module, &id) ? id.bytes[0] : -1;
}

/* COUNT files of USER's from number FIRST on are mapped, and their ids are read. */
static void map_many(struct buildids *buildids, uid_t user, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        const struct mapped_file file = {
            .pid = PID_OF_USER + (pid_t)user, .maj = 8, .min = 1, .ino = i, .path = "/lib/one"};
        buildids_expect(buildids, &file, 0, 1);
        answer_last();
    }
}

static uint64_t forgotten(struct buildids *buildids)
{
    return opener_counts(buildids_opener(buildids)).forgotten;
}

/* Where there are too many, who has his share loses his own, else who has most: others keep what is gone by now. */
static void test_forgets_of_one_user(void **state)
{
    (void)state;
    enum { MOST = 16384, SHARE = MOST / 4, FEW = 100, A = 1000000, B = 2000000, C = 3000000, D = 4000000 };
    struct buildids *buildids = buildids_new();
    map_many(buildids, 1, A, FEW);
    map_many(buildids, 2, B, MOST - FEW);
    assert_int_equal(forgotten(buildids), 0);
    map_many(buildids, 2, B + MOST, 1);
    assert_int_equal(forgotten(buildids), MOST - FEW);
    /* The first user's are there, as the last one of the second's. */
    const uint64_t before = asked_count;
    assert_int_equal(known(buildids, A), 7);
    assert_int_equal(known(buildids, A + FEW - 1), 7);
    assert_int_equal(known(buildids, B + MOST), 7);
    assert_int_equal(asked_count, before);
    buildids_free(buildids);
    /* One who has his share, and another who has more. */
    buildids = buildids_new();
    map_many(buildids, 2, B, SHARE);
    map_many(buildids, 3, C, MOST - SHARE);
    map_many(buildids, 2, B + MOST, 1);
    assert_int_equal(forgotten(buildids), SHARE);
    assert_int_equal(known(buildids, C), 7);
    buildids_free(buildids);
    /* One who has less: the one who has most makes room. */
    buildids = buildids_new();
    map_many(buildids, 2, B, SHARE - 1);
    map_many(buildids, 4, D, SHARE);
    map_many(buildids, 3, C, MOST - 2 * SHARE + 1);
    map_many(buildids, 2, B + MOST, 1);
    assert_int_equal(forgotten(buildids), MOST - 2 * SHARE + 1);
    assert_int_equal(known(buildids, B), 7);
    assert_int_equal(known(buildids, D), 7);
    buildids_free(buildids);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forgets_of_one_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
