/* SPDX-License-Identifier: MIT */
/* Long names of functions, shortened where they say least. */
#include "check.h"

#include "analyze/view/brief.h"

static void expect(const char *name, size_t columns, const char *wanted)
{
    char *brief = brief_name(name, columns, true);
    if (strcmp(brief, wanted) != 0)
        fail_msg("'%s' of '%s' in %zu columns, not '%s'", brief, name, columns, wanted);
    free(brief);
}

static void test_arguments(void **state)
{
    static const char name[] = "std::vector<std::pair<int, char>, A<(B)1> >::insert(int, std::pair<int, char> const&)";
    (void)state;
    expect(name, sizeof(name) - 1, name);
    expect(name, sizeof(name) - 2, "std::vector<std::pair<int, char>, A<(B)1> >::insert(...)");
    expect(name, 40, "std::vector<...>::insert(...)");
    expect(name, 28, "...vector<...>::insert(...)");
    expect(name, 26, "...insert(...)");
    expect(name, 13, "std::vecto...");
    expect("f()", 2, "..");
    expect("main", 4, "main");
}

static void test_what_is_no_argument(void **state)
{
    (void)state;
    expect("(anonymous namespace)::work(int)", 31, "...work(int)");
    expect("ns::(anonymous namespace)::work<int>", 35, "...(anonymous namespace)::work<int>");
    expect("<alloc::Vec<T> as Drop>::drop", 28, "...drop");
    expect("main.(*Server).Serve", 19, "main.(*Server).S...");
    expect("A::operator()(int, int, int) const", 33, "A::operator()(...) const");
    expect("A::operator<<(int, int)", 22, "A::operator<<(...)");
    expect("A::operator-><long, long>", 24, "A::operator-><...>");
    expect("f<&A::operator->>(unsigned)", 26, "f<&A::operator->>(...)");
    expect("B::f(C)::{lambda(D, E)#1}::operator()(D, E) const", 48, "B::f(C)::{lambda(...)#1}::operator()(...) const");
}

static void test_brackets_that_do_not_close(void **state)
{
    (void)state;
    expect("f<int(", 5, "f<...");
    expect("f(((((", 5, "f(...");
    expect("f>)]}::g", 7, "...g");
    expect("::", 1, ".");
    expect("a::", 2, "..");
    expect("", 0, "");
}

static void test_paths(void **state)
{
    static const struct {
        const char *path, *brief;
        size_t columns;
    } paths[] = {
        {"/usr/include/c++/12/bits/stl_algo.h", "/usr/include/c++/12/bits/stl_algo.h", 35},
        {"/usr/include/c++/12/bits/stl_algo.h", ".../include/c++/12/bits/stl_algo.h", 34},
        {"/usr/include/c++/12/bits/stl_algo.h", ".../bits/stl_algo.h", 20},
        {"/usr/include/c++/12/bits/stl_algo.h", ".../stl_algo.h", 3},
        {"src/a.c", ".../a.c", 6},
        {"a-long-name.c", "a-long-name.c", 4},
        {"", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char *brief = brief_path(paths[i].path, paths[i].columns, true);
        assert_string_equal(brief, paths[i].brief);
        free(brief);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_what_is_no_argument),
        cmocka_unit_test(test_brackets_that_do_not_close),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
