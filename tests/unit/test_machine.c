/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/machine.h"

static void test_x86(void **state)
{
    (void)state;
    struct machine machine;
    machine_parse_cpuinfo("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: "
                          "AMD EPYC\nstepping\t: 1\n\n"
                          "processor\t: 1\nmodel name\t: another\n",
                          &machine);
    assert_string_equal(machine.cpu, "AMD EPYC");
    assert_string_equal(machine.cpuid, "AuthenticAMD,25,17,1");
}

static void test_others(void **state)
{
    (void)state;
    struct machine machine;
    machine_parse_cpuinfo("processor: 0\nuarch : sifive,u74\n", &machine);
    assert_string_equal(machine.cpu, "sifive,u74");
    assert_string_equal(machine.cpuid, "");
    machine_parse_cpuinfo("", &machine);
    assert_string_equal(machine.cpu, "");
    /* A line of any length, without an end. */
    static char text[100000];
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "model name : ", 13);
    machine_parse_cpuinfo(text, &machine);
    assert_int_equal(strlen(machine.cpu), sizeof(machine.cpu) - 1);
}

static void test_this_machine(void **state)
{
    (void)state;
    struct machine machine;
    struct utsname name;
    assert_int_equal(uname(&name), 0);
    machine_read(&machine);
    assert_string_equal(machine.hostname, name.nodename);
    assert_string_equal(machine.arch, name.machine);
    assert_int_equal(machine.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(machine.cpus_configured >= machine.cpus_online);
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file) {
        assert_int_equal(fscanf(file, "MemTotal: %llu kB", &kilobytes), 1);
        fclose(file);
        assert_int_equal(machine.memory_kb, kilobytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
