/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/exec_kind.h"

#include <elf.h>
#include <limits.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char directory[] = "/tmp/pinject-exec-kind-XXXXXX";

static struct pinject_judge judge;

static enum pinject_exec_kind kind_at(int fd, const char *path)
{
    judge = (struct pinject_judge){.directory = AT_FDCWD};
    return pinject_exec_at(&judge, fd, path);
}

static enum pinject_exec_kind kind_search(const char *file)
{
    judge = (struct pinject_judge){.directory = AT_FDCWD};
    return pinject_exec_search(&judge, file);
}

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(directory) || chdir(directory);
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
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

static enum pinject_exec_kind exec_kind_of(struct elf elf)
{
    write_file("program", &elf, sizeof(elf));
    return kind_at(AT_FDCWD, "program");
}

static void test_programs(void **state)
{
    (void)state;
    assert_int_equal(kind_at(AT_FDCWD, "/proc/self/exe"), PINJECT_EXEC_TAKES);
    assert_int_equal(exec_kind_of(elf_with("/lib64/ld-linux-x86-64.so.2")), PINJECT_EXEC_TAKES);
    assert_int_equal(exec_kind_of(elf_with("/nix/store/abc-glibc/lib/ld-linux-x86-64.so.2")), PINJECT_EXEC_TAKES);
    assert_int_equal(exec_kind_of(elf_with(NULL)), PINJECT_EXEC_STATIC);
    assert_int_equal(exec_kind_of(elf_with("/lib/ld-musl-x86_64.so.1")), PINJECT_EXEC_REFUSES);
    assert_int_equal(exec_kind_of(elf_with("/system/bin/linker64")), PINJECT_EXEC_REFUSES);
    /* Whoever is not known to take it may refuse to. */
    assert_int_equal(exec_kind_of(elf_with("/opt/strange/ld.so")), PINJECT_EXEC_REFUSES);
    assert_int_equal(exec_kind_of(elf_with("/opt/ld-linux-farm/loader")), PINJECT_EXEC_REFUSES);
    assert_int_equal(exec_kind_of(elf_with("ld-2.31.so")), PINJECT_EXEC_TAKES);
    struct elf elf = elf_with(NULL);
    elf.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_REFUSES);
    elf = elf_with(NULL);
    elf.header.e_machine = EM_S390;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_REFUSES);
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
    assert_int_equal(kind_at(AT_FDCWD, "far"), PINJECT_EXEC_REFUSES);
}

static void test_hostile_programs(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    elf.header.e_phoff = UINT64_MAX - 8;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_UNKNOWN);
    elf.header.e_phoff = offsetof(struct elf, segments);
    elf.header.e_phnum = 65535;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_UNKNOWN);
    elf.header.e_phnum = 2;
    elf.segments[1].p_filesz = UINT64_MAX;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_UNKNOWN);
    elf.segments[1].p_filesz = sizeof(elf.loader);
    elf.segments[1].p_offset = UINT64_MAX;
    assert_int_equal(exec_kind_of(elf), PINJECT_EXEC_UNKNOWN);
    write_file("short", &elf, 10);
    assert_int_equal(kind_at(AT_FDCWD, "short"), PINJECT_EXEC_UNKNOWN);
    write_file("empty", "", 0);
    assert_int_equal(kind_at(AT_FDCWD, "empty"), PINJECT_EXEC_UNKNOWN);
}

static void test_scripts(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    write_file("musl", &elf, sizeof(elf));
    write_file("script", "#! \tmusl -x\nrest\n", 17);
    assert_int_equal(kind_at(AT_FDCWD, "script"), PINJECT_EXEC_REFUSES);
    write_file("chain", "#!script\n", 9);
    assert_int_equal(kind_at(AT_FDCWD, "chain"), PINJECT_EXEC_REFUSES);
    write_file("loop", "#!loop\n", 7);
    assert_int_equal(kind_at(AT_FDCWD, "loop"), PINJECT_EXEC_MISSING);
    write_file("nothing", "#!\n", 3);
    assert_int_equal(kind_at(AT_FDCWD, "nothing"), PINJECT_EXEC_UNKNOWN);
    write_file("unmarked", "exit 0\n", 7); /* for a shell */
    assert_int_equal(kind_at(AT_FDCWD, "unmarked"), PINJECT_EXEC_UNKNOWN);
    write_file("absent", "#!/nonexistent\n", 15);
    assert_int_equal(kind_at(AT_FDCWD, "absent"), PINJECT_EXEC_MISSING);
    char long_line[2000];
    memset(long_line, 'x', sizeof(long_line));
    memcpy(long_line, "#!", 2);
    write_file("long", long_line, sizeof(long_line));
    assert_int_equal(kind_at(AT_FDCWD, "long"), PINJECT_EXEC_UNKNOWN);
    /* Of a long line the kernel takes the first 256 bytes. */
    memcpy(long_line, "#!musl ", 7);
    write_file("long", long_line, sizeof(long_line));
    assert_int_equal(kind_at(AT_FDCWD, "long"), PINJECT_EXEC_REFUSES);
    write_file("return", "#!musl\r\n", 8); /* belongs to the name */
    assert_int_equal(kind_at(AT_FDCWD, "return"), PINJECT_EXEC_MISSING);
}

/* Five interpreters one behind the other, and what the last one is; a sixth is too much for the kernel. */
static void test_nested_scripts(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    write_file("musl", &elf, sizeof(elf));
    for (int i = 1; i <= 6; i++) {
        char name[8], line[32];
        snprintf(name, sizeof(name), "s%d", i);
        snprintf(line, sizeof(line), i == 1 ? "#!musl\n" : "#!./s%d\n", i - 1);
        write_file(name, line, strlen(line));
        assert_int_equal(kind_at(AT_FDCWD, name), i < 6 ? PINJECT_EXEC_REFUSES : PINJECT_EXEC_MISSING);
    }
}

/* Whoever executes may stand elsewhere: a child of posix_spawn. */
static void test_other_directory(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    mkdir("elsewhere", 0755);
    write_file("elsewhere/there", &elf, sizeof(elf));
    write_file("here", "#!./there\n", 10);
    assert_int_equal(kind_at(AT_FDCWD, "here"), PINJECT_EXEC_MISSING);
    int directory_fd = open("elsewhere", O_PATH | O_CLOEXEC);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/here", directory);
    judge = (struct pinject_judge){.directory = directory_fd};
    assert_int_equal(pinject_exec_at(&judge, directory_fd, path), PINJECT_EXEC_REFUSES);
    setenv("PATH", "", 1);
    assert_int_equal(pinject_exec_search(&judge, "there"), PINJECT_EXEC_REFUSES);
    setenv("PATH", "/bin", 1);
    close(directory_fd);
}

static void test_other_users(void **state)
{
    struct elf elf = elf_with("/lib64/ld-linux-x86-64.so.2");
    (void)state;
    write_file("set", &elf, sizeof(elf));
    assert_int_equal(chmod("set", 04755), 0);
    assert_int_equal(kind_at(AT_FDCWD, "set"), PINJECT_EXEC_TAKES); /* to the same */
    if (geteuid() != 0) {
        assert_int_equal(chmod("set", 0111), 0);
        assert_int_equal(kind_at(AT_FDCWD, "set"), PINJECT_EXEC_SECURE);
        return;
    }
    assert_int_equal(chown("set", 1, 1), 0);
    assert_int_equal(chmod("set", 04755), 0);
    assert_int_equal(kind_at(AT_FDCWD, "set"), PINJECT_EXEC_SECURE);
    assert_int_equal(chmod("set", 02755), 0);
    assert_int_equal(kind_at(AT_FDCWD, "set"), PINJECT_EXEC_SECURE);
    elf = elf_with(NULL);
    write_file("set", &elf, sizeof(elf));
    assert_int_equal(chmod("set", 02755), 0);
    assert_int_equal(kind_at(AT_FDCWD, "set"), PINJECT_EXEC_SECURE_REFUSES);
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo", 0755), 0);
    assert_int_equal(kind_at(AT_FDCWD, "fifo"), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(AT_FDCWD, "/"), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(AT_FDCWD, "/dev/zero"), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(AT_FDCWD, "/nonexistent"), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(AT_FDCWD, (const char *)8), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(AT_FDCWD, NULL), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_at(-1, ""), PINJECT_EXEC_MISSING);
}

static void test_descriptor(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    write_file("musl", &elf, sizeof(elf));
    int fd = open("musl", O_RDONLY | O_CLOEXEC);
    int next = dup(fd);
    close(next);
    assert_int_equal(kind_at(fd, ""), PINJECT_EXEC_REFUSES);
    close(fd);
    fd = open("musl", O_PATH | O_CLOEXEC);
    assert_int_equal(kind_at(fd, ""), PINJECT_EXEC_REFUSES);
    close(fd);
    fd = open(".", O_PATH | O_CLOEXEC);
    assert_int_equal(kind_at(fd, "musl"), PINJECT_EXEC_REFUSES);
    /* Nothing stays open. */
    int again = dup(fd);
    assert_int_equal(again, next);
    close(again);
    close(fd);
}

/* Closing any descriptor of a file drops the locks of all. */
static void test_descriptor_keeps_locks(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int status;
    (void)state;
    write_file("locked", &elf, sizeof(elf));
    int fd = open("locked", O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    assert_int_equal(lseek(fd, 5, SEEK_SET), 5);
    assert_int_equal(kind_at(fd, ""), PINJECT_EXEC_REFUSES);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 5);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == getppid() ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
}

static void test_search(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    assert_int_equal(mkdir("bin", 0755), 0);
    write_file("bin/musl", &elf, sizeof(elf));
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/nonexistent:%s/bin:/usr/bin:/bin", directory);
    setenv("PATH", path, 1);
    assert_int_equal(kind_search("musl"), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search("sh"), PINJECT_EXEC_TAKES);
    assert_int_equal(kind_search("no-such-program"), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_search("bin/musl"), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search(""), PINJECT_EXEC_MISSING);
    assert_int_equal(kind_search((const char *)8), PINJECT_EXEC_MISSING);
    /* An empty element is the working directory. */
    setenv("PATH", "/nonexistent:", 1);
    write_file("here", &elf, sizeof(elf));
    assert_int_equal(kind_search("here"), PINJECT_EXEC_REFUSES);
    unsetenv("PATH");
    assert_int_equal(kind_search("sh"), PINJECT_EXEC_TAKES);
}

static void test_long_paths(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    char path[PATH_MAX + 256] = ".", name[201];
    (void)state;
    memset(name, 'n', 200);
    name[200] = 0;
    for (int i = 0; i < 4; i++) {
        strcat(strcat(path, "/"), name);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    setenv("PATH", path, 1);
    strcat(path, "/musl");
    write_file(path, &elf, sizeof(elf));
    assert_int_equal(kind_at(AT_FDCWD, path), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search(path), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search("musl"), PINJECT_EXEC_REFUSES);
    memset(name, 'n', 200);
    assert_int_equal(kind_search(name), PINJECT_EXEC_MISSING);
    /* libc passes over elements that are too long, and then takes the working directory. */
    memset(path, 'x', PATH_MAX);
    strcpy(path + PATH_MAX, ":/bin");
    setenv("PATH", path, 1);
    assert_int_equal(kind_search("sh"), PINJECT_EXEC_TAKES);
    write_file("sh", &elf, sizeof(elf));
    assert_int_equal(kind_search("sh"), PINJECT_EXEC_REFUSES);
    unlink("sh");
    path[PATH_MAX] = 0;
    setenv("PATH", path, 1);
    assert_int_equal(kind_search("sh"), PINJECT_EXEC_MISSING);
    setenv("PATH", "/bin", 1);
}

/* execvp goes on where exec says that it may not, or that it is not there. */
static void test_search_passes_over(void **state)
{
    struct elf elf = elf_with("/lib/ld-musl-x86_64.so.1");
    (void)state;
    mkdir("first", 0755), mkdir("second", 0755), mkdir("first/directory", 0755);
    write_file("first/plain", "text\n", 5);
    assert_int_equal(chmod("first/plain", 0644), 0);
    write_file("first/orphan", "#!/nonexistent\n", 15);
    write_file("second/plain", &elf, sizeof(elf));
    write_file("second/orphan", &elf, sizeof(elf));
    write_file("second/directory", &elf, sizeof(elf));
    setenv("PATH", "first:second", 1);
    assert_int_equal(kind_search("plain"), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search("orphan"), PINJECT_EXEC_REFUSES);
    assert_int_equal(kind_search("directory"), PINJECT_EXEC_REFUSES);
    mkdir("d", 0755);
    write_file("d/short", &elf, sizeof(elf));
    setenv("PATH", "d", 1); /* a name of one byte */
    assert_int_equal(kind_search("short"), PINJECT_EXEC_REFUSES);
    setenv("PATH", "/bin", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_far_program_headers),
        cmocka_unit_test(test_hostile_programs),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_descriptor_keeps_locks),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_nested_scripts),
        cmocka_unit_test(test_other_directory),
        cmocka_unit_test(test_other_users),
        cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_search_passes_over),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
