/* SPDX-License-Identifier: MIT */
/* Programs made by hand: what each is, and what hostile ones do to who looks. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "collector/doctor/doctor_executable.h"

#if defined(__x86_64__)
#define OWN_MACHINE   EM_X86_64
#define OTHER_MACHINE EM_AARCH64
#else
#define OWN_MACHINE   EM_AARCH64
#define OTHER_MACHINE EM_X86_64
#endif

struct program {
    ElfW(Ehdr) elf;
    ElfW(Phdr) headers[2];
    char loader[64];
    char note[16];
};

static struct doctor_executable executable;

static void write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
    unlink(name);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_true(write(fd, bytes, size) == (ssize_t)size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static struct program make(uint16_t type, const char *loader)
{
    struct program program = {
        .elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
                            __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
                .e_type = type,
                .e_machine = OWN_MACHINE,
                .e_phoff = offsetof(struct program, headers),
                .e_phentsize = sizeof(ElfW(Phdr)),
                .e_phnum = 2},
    };
    if (loader) {
        program.headers[0].p_type = PT_INTERP;
        program.headers[0].p_offset = offsetof(struct program, loader);
        program.headers[0].p_filesz = strlen(loader) + 1;
        strcpy(program.loader, loader);
    }
    return program;
}

static enum doctor_kind judge(const struct program *program, size_t size)
{
    write_file("./program", program, size, 0755);
    doctor_executable_find("./program", &executable);
    return executable.kind;
}

static enum doctor_kind kind_of(uint16_t type, const char *loader)
{
    struct program program = make(type, loader);
    return judge(&program, sizeof(program));
}

static void kinds(void **state)
{
    (void)state;
    assert_int_equal(kind_of(ET_EXEC, NULL), DOCTOR_EXECUTABLE_STATIC);
    assert_int_equal(kind_of(ET_DYN, NULL), DOCTOR_EXECUTABLE_STATIC_PIE);
    assert_false(executable.go);
    assert_int_equal(kind_of(ET_DYN, "/lib/ld-musl-x86_64.so.1"), DOCTOR_EXECUTABLE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/lib/ld-uClibc.so.0"), DOCTOR_EXECUTABLE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/system/bin/linker64"), DOCTOR_EXECUTABLE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/nowhere/ld-linux.so.9"), DOCTOR_EXECUTABLE_NO_LOADER);
    assert_string_equal(executable.loader, "/nowhere/ld-linux.so.9");
    assert_int_equal(kind_of(ET_DYN, "/bin/sh"), DOCTOR_EXECUTABLE_DYNAMIC);
    assert_int_equal(kind_of(ET_REL, NULL), DOCTOR_EXECUTABLE_BROKEN);
    doctor_executable_find("/proc/self/exe", &executable);
    assert_int_equal(executable.kind, DOCTOR_EXECUTABLE_DYNAMIC);
}

static void others(void **state)
{
    (void)state;
    struct program program = make(ET_DYN, NULL);
    program.elf.e_machine = OTHER_MACHINE;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_OTHER);
    assert_int_equal(executable.machine, OTHER_MACHINE);
    program = make(ET_DYN, NULL);
    program.elf.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_OTHER);
    program = make(ET_DYN, NULL);
    program.elf.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
    program.elf.e_machine = __builtin_bswap16(EM_S390);
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_OTHER);
    assert_int_equal(executable.machine, EM_S390);
}

static void go_programs(void **state)
{
    (void)state;
    struct program program = make(ET_EXEC, NULL);
    program.headers[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_offset = offsetof(struct program, note), .p_filesz = 16};
    memcpy(program.note + 12, "Go\0", 4);
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_STATIC);
    assert_true(executable.go);
}

static void damaged(void **state)
{
    (void)state;
    struct program program = make(ET_DYN, "/bin/sh");
    for (size_t size = SELFMAG; size < sizeof(program); size++)
        judge(&program, size);
    assert_int_equal(judge(&program, sizeof(ElfW(Ehdr)) - 1), DOCTOR_EXECUTABLE_BROKEN);
    assert_int_equal(judge(&program, sizeof(ElfW(Ehdr))), DOCTOR_EXECUTABLE_BROKEN);
    program.elf.e_phoff = (ElfW(Off)) - 8;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_BROKEN);
    program = make(ET_DYN, "/bin/sh");
    program.headers[0].p_offset = (ElfW(Off)) - 1;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_BROKEN);
    program = make(ET_DYN, "");
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_BROKEN);
    program = make(ET_DYN, "/bin/sh");
    program.headers[0].p_filesz = (ElfW(Xword)) - 1;
    memset(program.loader, 'x', sizeof(program.loader));
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_EXECUTABLE_NO_LOADER);
    program.elf.e_phnum = UINT16_MAX;
    judge(&program, sizeof(program));
    /* Any byte may be another one. */
    program = make(ET_DYN, "/bin/sh");
    for (size_t i = 0; i < sizeof(program); i++) {
        ((unsigned char *)&program)[i] ^= 0xff;
        judge(&program, sizeof(program));
        ((unsigned char *)&program)[i] ^= 0xff;
    }
}

static void find_script(const char *text, size_t size)
{
    write_file("script", text, size, 0755);
    doctor_executable_find("./script", &executable);
}
#define SCRIPT(text) find_script(text, sizeof(text) - 1)

static void scripts(void **state)
{
    (void)state;
    SCRIPT("#!/bin/sh\nexit 0\n");
    assert_int_equal(executable.kind, DOCTOR_EXECUTABLE_DYNAMIC);
    assert_string_equal(executable.chain, "./script -> /bin/sh");
    assert_false(executable.env);
    SCRIPT("#! \t/bin/sh -e");
    assert_string_equal(executable.path, "/bin/sh");
    SCRIPT("echo without a line of its own\n");
    assert_string_equal(executable.chain, "./script -> /bin/sh");
    SCRIPT("#!/usr/bin/env sh\n");
    assert_true(executable.env);
    assert_non_null(strstr(executable.chain, "./script -> /usr/bin/env -> /"));
    SCRIPT("#!/usr/bin/env -S A=1 -i sh -e\n");
    assert_true(executable.env && executable.kind == DOCTOR_EXECUTABLE_DYNAMIC);
    SCRIPT("#!/usr/bin/env -S A=1\n"); /* which lists the environment */
    assert_true(!executable.env && executable.kind == DOCTOR_EXECUTABLE_DYNAMIC);
    SCRIPT("#!/usr/bin/env no-such-program\n");
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == ENOENT);
    assert_string_equal(executable.path, "no-such-program");
    SCRIPT("#!/no/such/interpreter\r\n");
    assert_int_equal(executable.kind, DOCTOR_EXECUTABLE_MISSING);
    assert_string_equal(executable.chain, "./script -> /no/such/interpreter\\015");
    SCRIPT("#!\n");
    assert_string_equal(executable.chain, "./script -> /bin/sh");
    SCRIPT("#!./script\n");
    assert_int_equal(executable.kind, DOCTOR_EXECUTABLE_LOOP);
    char large[4096];
    memset(large, 'x', sizeof(large));
    memcpy(large, "#!/", 3);
    find_script(large, sizeof(large));
    assert_int_equal(executable.kind, DOCTOR_EXECUTABLE_MISSING);
}

static void places(void **state)
{
    (void)state;
    char large[2 * PATH_MAX];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    doctor_executable_find("sh", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_DYNAMIC && executable.path[0] == '/');
    doctor_executable_find("no-such-command", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == ENOENT);
    doctor_executable_find("", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == ENOENT);
    doctor_executable_find("/", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == EACCES);
    doctor_executable_find(large, &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == ENAMETOOLONG);
    write_file("plain", "", 0, 0644);
    doctor_executable_find("./plain", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == EACCES);
    setenv("PATH", "/nowhere::/bin", 1);
    doctor_executable_find("plain", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == EACCES);
    unsetenv("PATH");
    doctor_executable_find("sh", &executable);
    assert_string_equal(executable.path, "/bin/sh");
    setenv("PATH", large, 1);
    doctor_executable_find("sh", &executable);
    assert_true(executable.kind == DOCTOR_EXECUTABLE_MISSING && executable.error == ENOENT);
    setenv("PATH", "/usr/bin:/bin", 1);
}

static void modes(void **state)
{
    (void)state;
    struct program program = make(ET_EXEC, NULL);
    write_file("./program", &program, sizeof(program), 04711);
    doctor_executable_find("./program", &executable);
    assert_int_equal(executable.mode & 07777, 04711);
    assert_int_equal(executable.uid, geteuid());
    write_file("./program", &program, sizeof(program), 0111);
    doctor_executable_find("./program", &executable);
    assert_int_equal(executable.kind, geteuid() == 0 ? DOCTOR_EXECUTABLE_STATIC : DOCTOR_EXECUTABLE_UNREADABLE);
}

static int enter_directory(void **state)
{
    static char directory[] = "/tmp/test_doctor_executable.XXXXXX";
    *state = directory;
    return !mkdtemp(directory) || chdir(directory) ? -1 : 0;
}

static int leave_directory(void **state)
{
    static const char *const made[] = {"program", "script", "plain"};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        unlink(made[i]);
    return chdir("/") || rmdir(*state) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),   cmocka_unit_test(others), cmocka_unit_test(go_programs), cmocka_unit_test(damaged),
        cmocka_unit_test(scripts), cmocka_unit_test(places), cmocka_unit_test(modes),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
