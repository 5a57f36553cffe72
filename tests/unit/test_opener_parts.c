/* SPDX-License-Identifier: MIT */
/* Lists of questions, and how long a user's files may keep helpers waiting. */
#include "check.h"

#include <stdbool.h>

#include "collector/opener_parts.h"

static struct job jobs[5];

static void expect(struct jobs *list, const char *wanted)
{
    char text[16] = "";
    struct job **end = &list->first;
    for (struct job *at = list->first; at; end = &at->next, at = at->next) {
        char name[2] = {(char)('a' + (at - jobs)), '\0'};
        strcat(text, name);
    }
    assert_string_equal(text, wanted);
    assert_ptr_equal(list->end, end);
}

static void questions_stand_in_rows(void **state)
{
    struct jobs one, two;
    (void)state;
    jobs_init(&one);
    jobs_init(&two);
    expect(&one, "");
    jobs_put_in_front(&one, &two);
    expect(&one, "");
    for (unsigned i = 0; i < 3; i++)
        jobs_put(&one, &jobs[i]);
    expect(&one, "abc");
    assert_ptr_equal(jobs_take(&one, &one.first->next), &jobs[1]);
    expect(&one, "ac");
    assert_ptr_equal(jobs_take(&one, &one.first->next), &jobs[2]);
    expect(&one, "a");
    jobs_put(&two, &jobs[3]);
    jobs_put(&two, &jobs[4]);
    jobs_put_in_front(&one, &two);
    expect(&one, "dea");
    expect(&two, "");
    jobs_put(&one, &jobs[1]);
    expect(&one, "deab");
    jobs_put_in_front(&one, &two); /* nothing */
    expect(&one, "deab");
    jobs_put_in_front(&two, &one); /* in front of nothing */
    expect(&two, "deab");
    expect(&one, "");
    jobs_put(&two, &jobs[2]);
    expect(&two, "deabc");
    for (unsigned i = 0; i < 5; i++)
        jobs_take(&two, &two.first);
    expect(&two, "");
}

static void patience_comes_back(void **state)
{
    struct user user = {.patience_ns = OPENER_PATIENCE_NS, .patience_at_ns = 1000};
    (void)state;
    assert_true(user_has_patience(&user, 1000));
    assert_true(user_has_patience(&user, 1000000000000));
    assert_int_equal(user.patience_ns, OPENER_PATIENCE_NS); /* and no more */
    assert_int_equal(user.patience_at_ns, 1000000000000);
    user.patience_ns = -100;
    assert_false(user_has_patience(&user, 1000000000000));
    uint64_t now = 1000000000000, waited = 0;
    while (!user_has_patience(&user, now)) {
        now += 100;
        waited += 100;
        assert_true(waited < 1000000);
    }
    assert_int_equal(waited, 5100); /* a fiftieth of the time */
}

static void users_have_entries(void **state)
{
    static struct opener opener;
    (void)state;
    struct user *own = user_find(&opener, getpid()), *unknown = user_find(&opener, 0);
    assert_int_equal(own->uid, geteuid());
    assert_int_equal(own->patience_ns, OPENER_PATIENCE_NS);
    assert_true(own->patience_at_ns > 0);
    assert_int_equal(unknown->uid, (uid_t)-1);
    assert_int_equal(opener.user_count, 2);
    assert_ptr_equal(user_find(&opener, getpid()), own);
    assert_ptr_equal(user_find(&opener, -1), unknown);
    assert_int_equal(opener.user_count, 2);
    /* The last one stands for all further ones. */
    for (unsigned i = 0; i < OPENER_USERS; i++)
        opener.users[i].uid = 4000000 + i;
    opener.user_count = OPENER_USERS;
    assert_ptr_equal(user_find(&opener, getpid()), &opener.users[OPENER_USERS - 1]);
    assert_int_equal(opener.user_count, OPENER_USERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_stand_in_rows),
        cmocka_unit_test(patience_comes_back),
        cmocka_unit_test(users_have_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
