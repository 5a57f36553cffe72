/* SPDX-License-Identifier: MIT */
/* What unwinding reads of a file: bytes within it alone, MADE_UP files of this machine alone, each file once. */
#include "check.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "unwind/unwind_file.h"

/* ---- Bytes ---- */

static int temporary(const void *bytes, size_t size)
{
    char path[] = "/tmp/pinject-unwind-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    return fd;
}

/* How pread() and pwrite() go: interrupted first, and so many bytes at once; 0: as usual. */
static struct {
    int error; /* of the next call */
    size_t most;
} going;

ssize_t __real_pread(int fd, void *ret, size_t size, off_t offset);
ssize_t __real_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset);

static bool fails_now(void)
{
    errno = going.error;
    going.error = 0;
    return errno != 0;
}

ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset)
{
    return fails_now() ? -1 : __real_pread(fd, ret, going.most && going.most < size ? going.most : size, offset);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return fails_now() ? -1 : __real_pwrite(fd, data, going.most && going.most < size ? going.most : size, offset);
}

static void check_bounds(const struct elf_bytes *elf)
{
    char bytes[16] = "";
    assert_true(elf_bytes_read(elf, 0, bytes, 10));
    assert_memory_equal(bytes, "0123456789", 10);
    assert_true(elf_bytes_read(elf, 7, bytes, 3));
    assert_memory_equal(bytes, "789", 3);
    assert_true(elf_bytes_read(elf, 10, bytes, 0));
    assert_false(elf_bytes_read(elf, 7, bytes, 4));
    assert_false(elf_bytes_read(elf, 11, bytes, 0));
    assert_false(elf_bytes_read(elf, UINT64_MAX, bytes, 2));
    assert_false(elf_bytes_read(elf, 2, bytes, SIZE_MAX));
    char *loaded = elf_bytes_load(elf, 3, 4, 4);
    assert_non_null(loaded);
    assert_memory_equal(loaded, "3456", 4);
    free(loaded);
    assert_null(elf_bytes_load(elf, 3, 4, 3));
    assert_null(elf_bytes_load(elf, 3, 0, 9));
    assert_null(elf_bytes_load(elf, 3, 8, 9));
    assert_null(elf_bytes_load(elf, 11, 1, 9));
    assert_null(elf_bytes_load(elf, UINT64_MAX, 2, 9));
    loaded = elf_bytes_load(elf, 3, 7, 9);
    assert_non_null(loaded);
    free(loaded);
}

static void test_bounds(void **state)
{
    char bytes[8];
    (void)state;
    int fd = temporary("0123456789", 10), copy = temporary("", 0);
    check_bounds(&(struct elf_bytes){.bytes = (const unsigned char *)"0123456789", .fd = -1, .size = 10});
    check_bounds(&(struct elf_bytes){.fd = fd, .size = 10});
    /* It became shorter than it was said to be. */
    assert_false(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 20}, 8, bytes, 4));
    assert_null(elf_bytes_load(&(struct elf_bytes){.fd = fd, .size = 20}, 8, 4, 9));
    assert_false(elf_bytes_read(&(struct elf_bytes){.fd = -1, .size = 20}, 8, bytes, 4));
    /* What is read is copied to the same place. */
    assert_true(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 10, .copy = copy}, 4, bytes, 3));
    assert_int_equal(lseek(copy, 0, SEEK_END), 7);
    assert_int_equal(pread(copy, bytes, 7, 0), 7);
    assert_memory_equal(bytes,
                        "\0\0\0\0"
                        "456",
                        7);
    int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_false(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 10, .copy = read_only}, 4, bytes, 3));
    close(read_only);
    close(fd);
    close(copy);
}

/* A signal, or a file system that gives less than was asked for, loses nothing. */
static void test_interrupted(void **state)
{
    char bytes[16];
    (void)state;
    int fd = temporary("0123456789", 10), copy = temporary("", 0);
    for (going.most = 0; going.most < 4; going.most++) {
        memset(bytes, 'x', sizeof(bytes));
        going.error = EINTR;
        assert_true(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 10}, 1, bytes, 9));
        assert_memory_equal(bytes, "123456789x", 10);
        assert_int_equal(ftruncate(copy, 0), 0);
        assert_true(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 10, .copy = copy}, 1, bytes, 9));
        assert_int_equal(pread(copy, bytes, 10, 0), going.most ? going.most : 10);
        size_t most = going.most;
        going.most = 0;
        assert_int_equal(pread(copy, bytes, 16, 0), 10);
        assert_memory_equal(bytes,
                            "\0"
                            "123456789",
                            10);
        /* In the middle of copying. */
        const struct elf_bytes elf = {.bytes = (const unsigned char *)"abc", .fd = -1, .size = 3, .copy = copy};
        assert_true(elf_bytes_read(&elf, 0, bytes, 3)); /* what is in memory is not copied */
        assert_int_equal(pread(copy, bytes, 1, 0), 1);
        assert_int_equal(bytes[0], '\0');
        going.most = most;
        going.error = EIO;
        assert_false(elf_bytes_read(&(struct elf_bytes){.fd = fd, .size = 10}, 1, bytes, 9));
    }
    going.most = 0;
    close(fd);
    close(copy);
}

/* ---- MADE_UP files ---- */

static struct {
    Elf64_Ehdr header;
    Elf64_Phdr programs[20];
    char tail[64];
} made_up;

static void make_elf(unsigned programs)
{
    memset(&made_up, 0, sizeof(made_up));
    memcpy(made_up.header.e_ident, ELFMAG, SELFMAG);
    made_up.header.e_ident[EI_CLASS] = ELFCLASS64;
    made_up.header.e_ident[EI_DATA] = ELFDATA2LSB;
    made_up.header.e_machine = UNWIND_MACHINE;
    made_up.header.e_entry = 0x401234;
    made_up.header.e_phentsize = sizeof(Elf64_Phdr);
    made_up.header.e_phnum = (Elf64_Half)programs;
    made_up.header.e_phoff = sizeof(made_up.header);
    for (unsigned i = 0; i < programs; i++)
        made_up.programs[i] = (Elf64_Phdr){.p_type = PT_LOAD,
                                           .p_flags = PF_R | PF_X,
                                           .p_offset = 0x1000 * (i + 1),
                                           .p_vaddr = 0x400000 + 0x10000 * i,
                                           .p_filesz = 0x800,
                                           .p_memsz = 0x900};
}

static bool reads(struct unwind_file *file)
{
    memset(file, 0, sizeof(*file));
    bool valid = unwind_file_read(
        file, &(struct elf_bytes){.bytes = (const unsigned char *)&made_up, .fd = -1, .size = sizeof(made_up)});
    assert_int_equal(file->valid, valid);
    return valid;
}

static void test_headers(void **state)
{
    struct unwind_file file;
    (void)state;
    make_elf(1);
    assert_true(reads(&file));
    assert_int_equal(file.entry, 0x401234);
    assert_int_equal(file.segment_count, 1);
    assert_null(file.frames.bytes);
    assert_null(file.debug.bytes);
    for (int way = 0; way < 6; way++) {
        make_elf(1);
        switch (way) {
        case 0: made_up.header.e_ident[3]++; break;
        case 1: made_up.header.e_ident[EI_CLASS] = ELFCLASS32; break;
        case 2: made_up.header.e_ident[EI_DATA] = ELFDATA2MSB; break;
        case 3: made_up.header.e_machine = EM_386; break;
        case 4: made_up.header.e_phentsize--; break;
        case 5: made_up.header.e_phoff = sizeof(made_up) - sizeof(Elf64_Phdr) + 1; break;
        }
        if (reads(&file))
            fail_msg("way %d", way);
    }
    make_elf(1);
    made_up.header.e_phoff = sizeof(made_up) - sizeof(Elf64_Phdr); /* the last ones that fit */
    assert_true(reads(&file));
    assert_int_equal(file.segment_count, 0);
}

static void test_addresses(void **state)
{
    struct unwind_file file;
    uint64_t address = 7;
    (void)state;
    make_elf(20);
    made_up.programs[1].p_flags = PF_R; /* without code */
    made_up.programs[2].p_type = PT_NOTE;
    assert_true(reads(&file));
    assert_int_equal(file.segment_count, UNWIND_FILE_SEGMENTS);
    assert_false(unwind_file_address(&file, 0xfff, &address));
    assert_int_equal(address, 7);
    assert_true(unwind_file_address(&file, 0x1000, &address));
    assert_int_equal(address, 0x400000);
    assert_true(unwind_file_address(&file, 0x17ff, &address));
    assert_int_equal(address, 0x4007ff);
    assert_false(unwind_file_address(&file, 0x1800, &address));
    assert_false(unwind_file_address(&file, 0x2000, &address));
    assert_false(unwind_file_address(&file, 0x3000, &address));
    assert_true(unwind_file_address(&file, 0x4001, &address));
    assert_int_equal(address, 0x430001);
    assert_true(unwind_file_address(&file, 0x12000, &address)); /* the last one that is kept */
    assert_int_equal(address, 0x510000);
    assert_false(unwind_file_address(&file, 0x13000, &address));
}

static unsigned char *own_program(size_t *ret_size)
{
    FILE *stream = fopen("/proc/self/exe", "r");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    *ret_size = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *bytes = malloc(*ret_size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *ret_size, stream), *ret_size);
    fclose(stream);
    return bytes;
}

/* Without its list of sections a file still has its tables: the program headers lead to them. */
static void test_without_sections(void **state)
{
    struct unwind_file whole = {0}, bare = {0};
    size_t size;
    (void)state;
    unsigned char *bytes = own_program(&size);
    Elf64_Ehdr header;
    const struct elf_bytes elf = {.bytes = bytes, .fd = -1, .size = size};
    assert_true(unwind_file_read(&whole, &elf));
    assert_true(whole.frames.count > 10);
    memcpy(&header, bytes, sizeof(header));
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    memcpy(bytes, &header, sizeof(header));
    assert_true(unwind_file_read(&bare, &elf));
    assert_int_equal(bare.frames.count, whole.frames.count);
    assert_true(bare.frames.address == whole.frames.address);
    assert_null(bare.debug.bytes);
    size_t found = 0;
    for (uint64_t offset = 0; offset < size; offset += 7) {
        uint64_t address, again;
        struct cfi_row row, other;
        bool mapped = unwind_file_address(&whole, offset, &address);
        assert_int_equal(unwind_file_address(&bare, offset, &again), mapped);
        if (!mapped)
            continue;
        assert_true(address == again);
        bool known = cfi_find_row(&whole.frames, address, &row);
        assert_int_equal(cfi_find_row(&bare.frames, address, &other), known);
        found += known;
    }
    assert_true(found > 10);
    const uint64_t table = whole.frames.address;
    cfi_release(&whole.frames);
    cfi_release(&whole.debug);
    cfi_release(&bare.frames);
    /* Without program headers that hold the table there is none. */
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr program;
        unsigned char *at = bytes + header.e_phoff + i * sizeof(program);
        memcpy(&program, at, sizeof(program));
        if (program.p_type == PT_LOAD && table >= program.p_vaddr && table - program.p_vaddr < program.p_filesz)
            program.p_filesz = 0;
        memcpy(at, &program, sizeof(program));
    }
    memset(&bare, 0, sizeof(bare));
    assert_true(unwind_file_read(&bare, &elf));
    assert_null(bare.frames.bytes);
    assert_int_equal(bare.frames.count, 0);
    row_cache_release(&bare.rows);
    free(bytes);
}

/* A section is no larger than its code justifies: zeros take no room on a disk. */
static void test_large_tables(void **state)
{
    static const char names[] = "\0.eh_frame";
    static const uint8_t frames[] = {20,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     1,
                                     0,
                                     1,
                                     0x78,
                                     16,
                                     DW_CFA_def_cfa,
                                     7,
                                     8,
                                     DW_CFA_offset | 16,
                                     1,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     20,
                                     0,
                                     0,
                                     0,
                                     28,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0x10,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     16,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0};
    enum { CODE = 0x800, LIMIT = (1 << 20) + CODE, AT = 0x1000, MOST = 64 << 20 };
    static const struct {
        uint64_t code, size;
        bool read;
    } cases[] = {
        {CODE, LIMIT, true}, {CODE, LIMIT + 1, false}, {UINT64_MAX, MOST, true}, {UINT64_MAX, MOST + 1, false}};
    (void)state;
    make_elf(1);
    made_up.header.e_shoff = offsetof(__typeof__(made_up), programs[2]);
    made_up.header.e_shentsize = sizeof(Elf64_Shdr);
    made_up.header.e_shnum = 2;
    memcpy(made_up.tail, names, sizeof(names));
    for (unsigned i = 0; i < 4; i++) {
        made_up.programs[0].p_filesz = cases[i].code;
        const Elf64_Shdr sections[] = {
            {.sh_offset = offsetof(__typeof__(made_up), tail), .sh_size = sizeof(names)},
            {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = AT, .sh_addr = 0x9000, .sh_size = cases[i].size}};
        memcpy(&made_up.programs[2], sections, sizeof(sections));
        int fd = temporary(&made_up, sizeof(made_up));
        assert_int_equal(pwrite(fd, frames, sizeof(frames), AT), sizeof(frames));
        assert_int_equal(ftruncate(fd, AT + MOST + 1), 0);
        struct unwind_file file = {0};
        assert_true(unwind_file_read(&file, &(struct elf_bytes){.fd = fd, .size = AT + MOST + 1}));
        assert_int_equal(file.frames.count, cases[i].read);
        assert_int_equal(file.frames.bytes != NULL, cases[i].read);
        cfi_release(&file.frames);
        close(fd);
    }
}

/* ---- Each once ---- */

static void test_files(void **state)
{
    size_t count = 9;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    assert_int_equal(unwind_files_size(files, &count), 0);
    assert_int_equal(count, 0);
    int fd = temporary(&made_up, sizeof(made_up)), text = temporary("text", 4),
        null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct unwind_file *file = unwind_files_fd(files, fd);
    assert_non_null(file);
    assert_ptr_equal(unwind_files_fd(files, fd), file);
    assert_int_equal(unwind_files_size(files, &count), unwind_file_size(file));
    assert_int_equal(count, 1);
    /* What is none is remembered as such. */
    assert_null(unwind_files_fd(files, text));
    assert_null(unwind_files_fd(files, text));
    unwind_files_size(files, &count);
    assert_int_equal(count, 2);
    assert_null(unwind_files_fd(files, null));
    assert_null(unwind_files_fd(files, -1));
    assert_int_equal(unwind_files_size(files, NULL), 2 * unwind_file_size(file));
    unwind_files_size(files, &count);
    assert_int_equal(count, 2);
    /* Other times: another file. */
    const struct timespec times[] = {{1, 2}, {3, 4}};
    assert_int_equal(futimens(fd, times), 0);
    struct unwind_file *changed = unwind_files_fd(files, fd);
    assert_true(changed && changed != file);
    assert_int_equal(changed->key.mtime_ns, 3000000004);
    unwind_files_free(files);
    unwind_files_free(NULL);
    close(fd);
    close(text);
    close(null);
}

/* Each part of the key tells files apart. */
static void test_keys(void **state)
{
    struct unwind_stat key = {1, 2, sizeof(made_up), 3, 4}, other;
    size_t count;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    int fd = temporary(&made_up, sizeof(made_up)), empty = temporary("", 0);
    struct unwind_file *file = unwind_files_copy(files, &key, fd);
    assert_non_null(file);
    assert_ptr_equal(unwind_files_copy(files, &key, empty), file);
    other = key, other.dev += 64;
    assert_true(unwind_files_copy(files, &other, fd) != file);
    other = key, other.ino += 1024;
    assert_true(unwind_files_copy(files, &other, fd) != file);
    other = key, other.mtime_ns++;
    assert_true(unwind_files_copy(files, &other, fd) != file);
    other = key, other.ctime_ns++;
    assert_true(unwind_files_copy(files, &other, fd) != file);
    other = key, other.size--;
    assert_true(unwind_files_copy(files, &other, fd) != file);
    unwind_files_size(files, &count);
    assert_int_equal(count, 6);
    /* None is forgotten for another one. */
    assert_ptr_equal(unwind_files_copy(files, &key, empty), file);
    assert_non_null(unwind_files_copy(files, &(struct unwind_stat){65, 2, sizeof(made_up), 3, 4}, empty));
    assert_non_null(unwind_files_copy(files, &(struct unwind_stat){1, 1026, sizeof(made_up), 3, 4}, empty));
    unwind_files_size(files, &count);
    assert_int_equal(count, 6);
    unwind_files_free(files);
    close(fd);
    close(empty);
}

static void test_memory_and_vdso(void **state)
{
    size_t count;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    struct unwind_file *one = unwind_files_memory(files, "[one]", &made_up, sizeof(made_up));
    struct unwind_file *two = unwind_files_memory(files, "[two]", &made_up, sizeof(made_up));
    assert_true(one && two && one != two);
    assert_ptr_equal(unwind_files_memory(files, "[one]", NULL, 0), one);
    assert_null(unwind_files_memory(files, "[no]", "text", 4));
    assert_null(unwind_files_memory(files, "[no]", &made_up, sizeof(made_up)));
    struct unwind_file *vdso = unwind_files_vdso(files);
    assert_ptr_equal(unwind_files_vdso(files), vdso);
    assert_true(!vdso || vdso->frames.count > 0);
    unwind_files_size(files, &count);
    assert_int_equal(count, vdso ? 4 : 3);
    unwind_files_free(files);
}

static void test_copies(void **state)
{
    (void)state;
    make_elf(1);
    int fd = temporary(&made_up, sizeof(made_up)), text = temporary("text", 4), copy = temporary("", 0);
    assert_int_equal(unwind_copy_tables(text, 4, copy), -ENOEXEC);
    assert_int_equal(unwind_copy_tables(fd, sizeof(made_up), copy), 0);
    Elf64_Ehdr header;
    assert_int_equal(pread(copy, &header, sizeof(header), 0), sizeof(header));
    assert_memory_equal(&header, &made_up.header, sizeof(header));
    close(fd);
    close(text);
    close(copy);
}

/* The tables that were of no use for the longest time leave, until the others fit. */
static void test_room(void **state)
{
    enum { FILES = 4, KEPT = 256 << 20, MOST = 512 << 20 };
    struct unwind_file *made[FILES], *found;
    size_t count;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    int fd = temporary(&made_up, sizeof(made_up));
    struct unwind_stat key = {1, 0, sizeof(made_up), 3, 4};
    for (key.ino = 0; key.ino < FILES; key.ino++) {
        made[key.ino] = unwind_files_copy(files, &key, fd);
        assert_non_null(made[key.ino]);
    }
    unwind_file_use(made[0]);
    unwind_file_use(made[0]);
    unwind_file_use(made[2]);
    made[0]->account->bytes = KEPT;
    assert_false(unwind_files_are_many(files));
    const size_t one = unwind_file_size(made[0]);
    made[0]->account->bytes = KEPT + one + 1;
    assert_true(unwind_files_are_many(files));
    assert_true(unwind_file_leaves(made[1]) && unwind_file_leaves(made[3]));
    assert_false(unwind_file_leaves(made[0]) || unwind_file_leaves(made[2]) || unwind_file_leaves(NULL));
    unwind_files_trim(files);
    assert_int_equal(unwind_files_size(files, &count), KEPT + 1 - one);
    assert_int_equal(count, 2);
    for (key.ino = 0; key.ino < FILES; key.ino++) {
        bool known = unwind_files_know(files, &key, &found);
        assert_int_equal(known, key.ino % 2 == 0);
        assert_true(!known || found == made[key.ino]);
    }
    /* All of them, and new ones behind. */
    made[0]->account->bytes = MOST - 1;
    assert_true(unwind_files_are_many(files));
    unwind_files_trim(files);
    unwind_files_size(files, &count);
    assert_int_equal(count, 0);
    assert_non_null(unwind_files_copy(files, &key, fd));
    assert_true(unwind_files_know(files, &key, &found));
    assert_true(unwind_files_size(files, NULL) > MOST - 1 - 2 * one);
    /* Beyond the most nothing is added, nor remembered. */
    found->account->bytes = MOST;
    key.ino++;
    assert_null(unwind_files_copy(files, &key, fd));
    assert_false(unwind_files_know(files, &key, &found));
    unwind_files_free(files);
    close(fd);
}

/* Rows that are remembered take room too. */
static void test_room_of_rows(void **state)
{
    struct cfi_row row;
    (void)state;
    struct unwind_files *files = unwind_files_new();
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct unwind_file *file = unwind_files_fd(files, fd);
    assert_true(file && file->frames.count > 10);
    const size_t before = unwind_files_size(files, NULL);
    assert_int_equal(before, unwind_file_size(file));
    for (size_t i = 0; i < file->frames.count; i++)
        unwind_file_row(file, file->frames.fdes[i].start, &row);
    assert_true(row_cache_size(&file->rows) > 0);
    assert_int_equal(unwind_files_size(files, NULL), before + row_cache_size(&file->rows));
    unwind_files_free(files);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_memory_and_vdso),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_without_sections),
        cmocka_unit_test(test_large_tables),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_room_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
