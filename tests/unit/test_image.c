/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/image.h"

#include <elf.h>
#include <limits.h>
#include <fcntl.h>
#include <sys/stat.h>

static char folder[] = "/tmp/pinject-image-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

struct elf {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    char loader[64];
};

static struct elf elf_with(const char *loader)
{
    struct elf elf;
    memset(&elf, 0, sizeof(elf));
    ssize_t fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read((int)fd, &elf.header, sizeof(elf.header)), sizeof(elf.header));
    close((int)fd);
    elf.header.e_phoff = offsetof(struct elf, segments);
    elf.header.e_phnum = 2;
    elf.segments[0].p_type = PT_LOAD;
    elf.segments[1].p_type = loader ? PT_INTERP : PT_NOTE;
    elf.segments[1].p_offset = offsetof(struct elf, loader);
    elf.segments[1].p_filesz = loader ? strlen(loader) + 1 : 0;
    snprintf(elf.loader, sizeof(elf.loader), "%s", loader ? loader : "");
    return elf;
}

static enum pinject_image image_of(struct elf elf)
{
    write_file("program", &elf, sizeof(elf));
    return pinject_image_at(AT_FDCWD, "program");
}

static void test_programs(void **state)
{
    (void)state;
    assert_int_equal(pinject_image_at(AT_FDCWD, "/proc/self/exe"), PINJECT_IMAGE_TAKES);
    assert_int_equal(image_of(elf_with("/lib64/ld-linux-x86-64.so.2")), PINJECT_IMAGE_TAKES);
    assert_int_equal(image_of(elf_with("/nix/store/abc-glibc/lib/ld-linux-x86-64.so.2")), PINJECT_IMAGE_TAKES);
    assert_int_equal(image_of(elf_with(NULL)), PINJECT_IMAGE_STATIC);
    assert_int_equal(image_of(elf_with("/lib/ld-musl-x86_64.so.1")), PINJECT_IMAGE_REFUSES);
    assert_int_equal(image_of(elf_with("/system/bin/linker64")), PINJECT_IMAGE_REFUSES);
    struct elf elf = elf_with(NULL);
    elf.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(image_of(elf), PINJECT_IMAGE_REFUSES);
    elf = elf_with(NULL);
    elf.header.e_machine = EM_S390;
    assert_int_equal(image_of(elf), PINJECT_IMAGE_REFUSES);
}

static void test_far_program_headers(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    char file[8192] = {0};
    (void)state;
    elf.header.e_phoff = 5000;
    memcpy(file, &elf, sizeof(elf));
    memcpy(file + 5000, elf.segments, sizeof(elf.segments));
    write_file("far", file, sizeof(file));
    assert_int_equal(pinject_image_at(AT_FDCWD, "far"), PINJECT_IMAGE_REFUSES);
}

static void test_hostile_programs(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    elf.header.e_phoff = UINT64_MAX - 8;
    assert_int_equal(image_of(elf), PINJECT_IMAGE_TAKES);
    elf.header.e_phoff = offsetof(struct elf, segments);
    elf.header.e_phnum = 65535;
    elf.segments[1].p_filesz = UINT64_MAX;
    assert_int_equal(image_of(elf), PINJECT_IMAGE_REFUSES);
    elf.segments[1].p_offset = UINT64_MAX;
    assert_int_equal(image_of(elf), PINJECT_IMAGE_TAKES);
    write_file("short", &elf, 10);
    assert_int_equal(pinject_image_at(AT_FDCWD, "short"), PINJECT_IMAGE_MISSING);
    write_file("empty", "", 0);
    assert_int_equal(pinject_image_at(AT_FDCWD, "empty"), PINJECT_IMAGE_TAKES);
}

static void test_scripts(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    write_file("musl", &elf, sizeof(elf));
    write_file("script", "#! \tmusl -x\nrest\n", 17);
    assert_int_equal(pinject_image_at(AT_FDCWD, "script"), PINJECT_IMAGE_REFUSES);
    write_file("chain", "#!script\n", 9);
    assert_int_equal(pinject_image_at(AT_FDCWD, "chain"), PINJECT_IMAGE_REFUSES);
    write_file("loop", "#!loop\n", 7);
    assert_int_equal(pinject_image_at(AT_FDCWD, "loop"), PINJECT_IMAGE_TAKES);
    write_file("nothing", "#!\n", 3);
    assert_int_equal(pinject_image_at(AT_FDCWD, "nothing"), PINJECT_IMAGE_TAKES);
    write_file("absent", "#!/nonexistent\n", 15);
    assert_int_equal(pinject_image_at(AT_FDCWD, "absent"), PINJECT_IMAGE_MISSING);
    char long_line[2000];
    memset(long_line, 'x', sizeof(long_line));
    memcpy(long_line, "#!", 2);
    write_file("long", long_line, sizeof(long_line));
    assert_int_equal(pinject_image_at(AT_FDCWD, "long"), PINJECT_IMAGE_TAKES);
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo", 0755), 0);
    assert_int_equal(pinject_image_at(AT_FDCWD, "fifo"), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(AT_FDCWD, "/"), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(AT_FDCWD, "/dev/zero"), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(AT_FDCWD, "/nonexistent"), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(AT_FDCWD, (const char *)8), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(AT_FDCWD, NULL), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_at(-1, ""), PINJECT_IMAGE_MISSING);
}

static void test_descriptor(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    write_file("musl", &elf, sizeof(elf));
    int fd = open("musl", O_RDONLY | O_CLOEXEC);
    int next = dup(fd);
    close(next);
    assert_int_equal(pinject_image_at(fd, ""), PINJECT_IMAGE_REFUSES);
    close(fd);
    fd = open(".", O_PATH | O_CLOEXEC);
    assert_int_equal(pinject_image_at(fd, "musl"), PINJECT_IMAGE_REFUSES);
    /* Nothing stays open. */
    int again = dup(fd);
    assert_int_equal(again, next);
    close(again);
    close(fd);
}

static void test_search(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    assert_int_equal(mkdir("bin", 0755), 0);
    write_file("bin/musl", &elf, sizeof(elf));
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/nonexistent:%s/bin:/usr/bin:/bin", folder);
    setenv("PATH", path, 1);
    assert_int_equal(pinject_image_search("musl"), PINJECT_IMAGE_REFUSES);
    assert_int_equal(pinject_image_search("sh"), PINJECT_IMAGE_TAKES);
    assert_int_equal(pinject_image_search("no-such-program"), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_search("bin/musl"), PINJECT_IMAGE_REFUSES);
    assert_int_equal(pinject_image_search(""), PINJECT_IMAGE_MISSING);
    assert_int_equal(pinject_image_search((const char *)8), PINJECT_IMAGE_MISSING);
    /* An empty element is the working directory. */
    setenv("PATH", "/nonexistent:", 1);
    write_file("here", &elf, sizeof(elf));
    assert_int_equal(pinject_image_search("here"), PINJECT_IMAGE_REFUSES);
    unsetenv("PATH");
    assert_int_equal(pinject_image_search("sh"), PINJECT_IMAGE_TAKES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),         cmocka_unit_test(test_far_program_headers),
        cmocka_unit_test(test_hostile_programs), cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_what_is_no_file),  cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
