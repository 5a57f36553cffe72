/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/system/machine.h"

#define MIDR "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"

/* Texts in the place of files, NULL: as they are. Reads of them come in small parts, each after a signal. */
static const char *cpuinfo, *midr;
static int faked = -1;
static bool interrupt;

int __real_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
    const char *text = strcmp(path, "/proc/cpuinfo") == 0 ? cpuinfo : strcmp(path, MIDR) == 0 ? midr : NULL;
    if (!text)
        return __real_open(path, flags, mode);
    assert_int_equal(flags, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    assert_int_equal(faked, -1); /* the one before is closed */
    faked = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(write(faked, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(faked, 0, SEEK_SET), 0);
    return faked;
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    if (fd != faked)
        return __real_read(fd, to, size);
    interrupt = !interrupt;
    errno = EINTR;
    return interrupt ? -1 : __real_read(fd, to, size < 7 ? size : 7);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    if (fd == faked)
        faked = -1;
    return __real_close(fd);
}

static void test_arm(void **state)
{
    static char text[6000];
    struct machine machine;
    (void)state;
    midr = "0x00000000410fd0c0\nmore\n";
    cpuinfo = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n";
    machine_read(&machine);
    assert_string_equal(machine.cpuid, "0x00000000410fd0c0");
    assert_string_equal(machine.cpu, "");
    assert_int_equal(faked, -1);
    /* Where cpuinfo tells, nobody asks; what is behind the first 4095 bytes is not read. */
    midr = "wrong";
    cpuinfo = "vendor_id : G\ncpu family : 1\nmodel : 2\nstepping : 3\nmodel name : N\n";
    machine_read(&machine);
    assert_string_equal(machine.cpuid, "G,1,2,3");
    assert_string_equal(machine.cpu, "N");
    memset(text, '\n', sizeof(text) - 1);
    memcpy(text + 4095 - 14, "model name : AB", 15);
    cpuinfo = text;
    machine_read(&machine);
    assert_string_equal(machine.cpu, "A");
    assert_string_equal(machine.cpuid, "wrong");
    cpuinfo = midr = NULL;
}

/* What a CPU is called elsewhere; a word that only begins so is not it, and of two values the first counts. */
static void test_names(void **state)
{
    static const struct {
        const char *text, *cpu;
    } cases[] = {
        {"Processor : ARMv7\nProcessor : other\n", "ARMv7"},
        {"cpu model\t\t: MIPS 24Kc V7.4\n", "MIPS 24Kc V7.4"},
        {"cpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"},
        {"cpufreq : 7\nuarch : u74\n", "u74"},
        {"model name without\nmodel name:x", "x"},
        {"model name :\nuarch : u74\n", ""},
    };
    struct machine machine;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        machine_parse_cpuinfo(cases[i].text, &machine);
        assert_string_equal(machine.cpu, cases[i].cpu);
        assert_string_equal(machine.cpuid, "");
    }
    /* Of the four parts of an id all are needed. */
    machine_parse_cpuinfo("vendor_id : G\ncpu family : 1\nmodel : 2\n", &machine);
    assert_string_equal(machine.cpuid, "");
    machine_parse_cpuinfo("vendor_id : G\ncpu family : 1\nstepping : 2\n", &machine);
    assert_string_equal(machine.cpuid, "");
    machine_parse_cpuinfo("vendor_id : G\nmodel : 1\nstepping : 2\n", &machine);
    assert_string_equal(machine.cpuid, "");
    machine_parse_cpuinfo("cpu family : G\nmodel : 1\nstepping : 2\n", &machine);
    assert_string_equal(machine.cpuid, "");
}

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
    assert_string_equal(machine.release, name.release);
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
        cmocka_unit_test(test_x86), cmocka_unit_test(test_others),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_arm), cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
