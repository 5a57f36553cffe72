/* SPDX-License-Identifier: MIT */
/* Programs made by hand: what each is, and what hostile ones do to who looks. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "collector/doctor_image.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OTHER_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_AARCH64
#define OTHER_MACHINE EM_X86_64
#endif

struct program {
    ElfW(Ehdr) elf;
    ElfW(Phdr) headers[2];
    char loader[64];
    char note[16];
};

static struct doctor_image image;

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
    doctor_image_find("./program", &image);
    return image.kind;
}

static enum doctor_kind kind_of(uint16_t type, const char *loader)
{
    struct program program = make(type, loader);
    return judge(&program, sizeof(program));
}

static void kinds(void **state)
{
    (void)state;
    assert_int_equal(kind_of(ET_EXEC, NULL), DOCTOR_IMAGE_STATIC);
    assert_int_equal(kind_of(ET_DYN, NULL), DOCTOR_IMAGE_STATIC_PIE);
    assert_false(image.go);
    assert_int_equal(kind_of(ET_DYN, "/lib/ld-musl-x86_64.so.1"), DOCTOR_IMAGE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/lib/ld-uClibc.so.0"), DOCTOR_IMAGE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/system/bin/linker64"), DOCTOR_IMAGE_FOREIGN);
    assert_int_equal(kind_of(ET_DYN, "/nowhere/ld-linux.so.9"), DOCTOR_IMAGE_NO_LOADER);
    assert_string_equal(image.loader, "/nowhere/ld-linux.so.9");
    assert_int_equal(kind_of(ET_DYN, "/bin/sh"), DOCTOR_IMAGE_DYNAMIC);
    assert_int_equal(kind_of(ET_REL, NULL), DOCTOR_IMAGE_BROKEN);
    doctor_image_find("/proc/self/exe", &image);
    assert_int_equal(image.kind, DOCTOR_IMAGE_DYNAMIC);
}

static void others(void **state)
{
    (void)state;
    struct program program = make(ET_DYN, NULL);
    program.elf.e_machine = OTHER_MACHINE;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_OTHER);
    assert_int_equal(image.machine, OTHER_MACHINE);
    program = make(ET_DYN, NULL);
    program.elf.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_OTHER);
    program = make(ET_DYN, NULL);
    program.elf.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
    program.elf.e_machine = __builtin_bswap16(EM_S390);
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_OTHER);
    assert_int_equal(image.machine, EM_S390);
}

static void go_programs(void **state)
{
    (void)state;
    struct program program = make(ET_EXEC, NULL);
    program.headers[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_offset = offsetof(struct program, note), .p_filesz = 16};
    memcpy(program.note + 12, "Go\0", 4);
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_STATIC);
    assert_true(image.go);
}

static void damaged(void **state)
{
    (void)state;
    struct program program = make(ET_DYN, "/bin/sh");
    for (size_t size = SELFMAG; size < sizeof(program); size++)
        judge(&program, size);
    assert_int_equal(judge(&program, sizeof(ElfW(Ehdr)) - 1), DOCTOR_IMAGE_BROKEN);
    assert_int_equal(judge(&program, sizeof(ElfW(Ehdr))), DOCTOR_IMAGE_BROKEN);
    program.elf.e_phoff = (ElfW(Off)) - 8;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_BROKEN);
    program = make(ET_DYN, "/bin/sh");
    program.headers[0].p_offset = (ElfW(Off)) - 1;
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_BROKEN);
    program = make(ET_DYN, "");
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_BROKEN);
    program = make(ET_DYN, "/bin/sh");
    program.headers[0].p_filesz = (ElfW(Xword)) - 1;
    memset(program.loader, 'x', sizeof(program.loader));
    assert_int_equal(judge(&program, sizeof(program)), DOCTOR_IMAGE_NO_LOADER);
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
    doctor_image_find("./script", &image);
}
#define SCRIPT(text) find_script(text, sizeof(text) - 1)

static void scripts(void **state)
{
    (void)state;
    SCRIPT("#!/bin/sh\nexit 0\n");
    assert_int_equal(image.kind, DOCTOR_IMAGE_DYNAMIC);
    assert_string_equal(image.chain, "./script > /bin/sh");
    assert_false(image.env);
    SCRIPT("#! \t/bin/sh -e");
    assert_string_equal(image.path, "/bin/sh");
    SCRIPT("echo without a line of its own\n");
    assert_string_equal(image.chain, "./script > /bin/sh");
    SCRIPT("#!/usr/bin/env sh\n");
    assert_true(image.env);
    assert_non_null(strstr(image.chain, "./script > /usr/bin/env > /"));
    SCRIPT("#!/usr/bin/env -S A=1 -i sh -e\n");
    assert_true(image.env && image.kind == DOCTOR_IMAGE_DYNAMIC);
    SCRIPT("#!/usr/bin/env -S A=1\n"); /* which lists the environment */
    assert_true(!image.env && image.kind == DOCTOR_IMAGE_DYNAMIC);
    SCRIPT("#!/usr/bin/env no-such-program\n");
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == ENOENT);
    assert_string_equal(image.path, "no-such-program");
    SCRIPT("#!/no/such/interpreter\r\n");
    assert_int_equal(image.kind, DOCTOR_IMAGE_MISSING);
    assert_string_equal(image.chain, "./script > /no/such/interpreter\\015");
    SCRIPT("#!\n");
    assert_string_equal(image.chain, "./script > /bin/sh");
    SCRIPT("#!./script\n");
    assert_int_equal(image.kind, DOCTOR_IMAGE_LOOP);
    char large[4096];
    memset(large, 'x', sizeof(large));
    memcpy(large, "#!/", 3);
    find_script(large, sizeof(large));
    assert_int_equal(image.kind, DOCTOR_IMAGE_MISSING);
}

static void places(void **state)
{
    (void)state;
    char large[2 * PATH_MAX];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    doctor_image_find("sh", &image);
    assert_true(image.kind == DOCTOR_IMAGE_DYNAMIC && image.path[0] == '/');
    doctor_image_find("no-such-command", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == ENOENT);
    doctor_image_find("", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == ENOENT);
    doctor_image_find("/", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == EACCES);
    doctor_image_find(large, &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == ENAMETOOLONG);
    write_file("plain", "", 0, 0644);
    doctor_image_find("./plain", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == EACCES);
    setenv("PATH", "/nowhere::/bin", 1);
    doctor_image_find("plain", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == EACCES);
    unsetenv("PATH");
    doctor_image_find("sh", &image);
    assert_string_equal(image.path, "/bin/sh");
    setenv("PATH", large, 1);
    doctor_image_find("sh", &image);
    assert_true(image.kind == DOCTOR_IMAGE_MISSING && image.error == ENOENT);
    setenv("PATH", "/usr/bin:/bin", 1);
}

static void modes(void **state)
{
    (void)state;
    struct program program = make(ET_EXEC, NULL);
    write_file("./program", &program, sizeof(program), 04711);
    doctor_image_find("./program", &image);
    assert_int_equal(image.mode & 07777, 04711);
    assert_int_equal(image.uid, geteuid());
    write_file("./program", &program, sizeof(program), 0111);
    doctor_image_find("./program", &image);
    assert_int_equal(image.kind, geteuid() == 0 ? DOCTOR_IMAGE_STATIC : DOCTOR_IMAGE_UNREADABLE);
}

static int enter_folder(void **state)
{
    static char folder[] = "/tmp/test_doctor_image.XXXXXX";
    *state = folder;
    return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int leave_folder(void **state)
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
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
