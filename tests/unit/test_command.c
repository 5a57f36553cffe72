/* SPDX-License-Identifier: MIT */
/* Command lines where there is little room, and which of them are alike. */
#include "check.h"

#include "analyze/view/brief.h"

#define CC1 "/usr/lib/gcc/12/cc1 -quiet -I include -imultiarch x src/big.c -dumpbase big.c -O2 -o /tmp/ccX1.s"

static void expect(char *got, const char *wanted)
{
    if (!got != !wanted || (got && strcmp(got, wanted) != 0))
        fail_msg("'%s', not '%s'", got ? got : "(none)", wanted ? wanted : "(none)");
    free(got);
}

static void test_brief(void **state)
{
    (void)state;
    expect(command_brief(CC1, sizeof(CC1) - 1, true), CC1);
    expect(command_brief(CC1, sizeof(CC1) - 2, true), strstr(CC1, "cc1"));
    expect(command_brief(CC1, 40, true), "cc1 ... src/big.c ...");
    expect(command_brief(CC1, 20, true), "cc1 ... src/big.c");
    expect(command_brief(CC1, 12, true), "cc1 ... s...");
    expect(command_brief("/usr/bin/ld -o prog /usr/lib/crt1.o -lm a.o b.o c.o /usr/lib/crtn.o", 20, true),
           "ld ... a.o b.o ...");
    expect(command_brief("/usr/bin/ld -o prog /usr/lib/crt1.o -lm a.o b.o c.o /usr/lib/crtn.o", 40, true),
           "ld ... a.o b.o c.o ...");
    expect(command_brief("as --64 --gdwarf-5 -o x1.o /tmp/ccX1.s", 20, true), "as ... -o x1.o");
    expect(command_brief("/bin/sh -c 'cc -c x.c; cc -c y.c'", 24, true), "sh -c 'cc -c x.c; cc ...");
    expect(command_brief("sleep 0.05 1.5", 9, true), "sleep ...");
    expect(command_brief("/", 1, true), "/");
    expect(command_brief("", 0, true), "");
    expect(command_brief("ab/", 2, true), "..");
}

static void test_pattern(void **state)
{
    (void)state;
    expect(command_pattern("cc -O2 -c -o a.o a.c"), "cc -O2 -c -o *");
    expect(command_pattern("cc  -O2 -c -o b.o src/b.c++ "), "cc -O2 -c -o *");
    expect(command_pattern("ld a.o b.o c.o -lm libm.so.6"), "ld * -lm libm.so.6");
    expect(command_pattern("ld -plugin-opt=-fresolution=/tmp/ccX1.res -pie -o prog /usr/lib/crt1.o -Lx main.o -lc"),
           "ld -plugin-opt=-fresolution=* -pie -o * -Lx * -lc");
    expect(command_pattern("grep -o word -o -c"), "grep -o word -o -c");
    expect(command_pattern("cc -c a.c -o -O2"), "cc -c * -o -O2");
    expect(command_pattern("cc -Wp,-MMD,.a.o.d -DNAME=x -include x/y.h -std=c11"),
           "cc -Wp,-MMD,* -DNAME=x -include * -std=c11");
    expect(command_pattern("sh -c 'cc -c a.c; touch (b.h)'"), "sh -c 'cc -c * touch *");
    expect(command_pattern("a/b.sh x"), "a/b.sh x");
    expect(command_pattern(""), "");
}

static void test_files(void **state)
{
    (void)state;
    expect(command_file(CC1), "src/big.c");
    expect(command_file("as -o x.o /tmp/ccX.s"), "x.o");
    expect(command_file("cc1 /tmp/ccX.s -o /tmp/ccY.s"), NULL);
    expect(command_file("cc1 -MF /tmp/p/x.d /tmp/p/x.c /tmp/p/y.c -o /tmp/ccY.s"), "/tmp/p/x.c");
    expect(command_file("cc1 /tmp/p/x.c -o x.o"), "x.o");
    expect(command_file("rustc --crate-name a lib.rs"), "lib.rs");
    expect(command_file("python3 -m build"), NULL);
    expect(command_file("sh -c 'cc a.c'"), NULL);
    expect(command_file("cc ..c .c a..c a. a.c_ a.123456 a.abcdef x/.c"), NULL);
    expect(command_file("cc a.C++"), "a.C++");
    expect(command_program("/usr/bin/cc -c"), "cc");
    expect(command_program("cc/"), "cc/");
    expect(command_program(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brief),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
