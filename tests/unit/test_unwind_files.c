/* SPDX-License-Identifier: MIT */
/* What unwinding reads of a file: bytes within it alone, ELF files of x86-64 alone, each file once. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "unwind/file.h"

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

static void check_bounds(const struct image *image)
{
    char bytes[16] = "";
    assert_true(image_read(image, 0, bytes, 10));
    assert_memory_equal(bytes, "0123456789", 10);
    assert_true(image_read(image, 7, bytes, 3));
    assert_memory_equal(bytes, "789", 3);
    assert_true(image_read(image, 10, bytes, 0));
    assert_false(image_read(image, 7, bytes, 4));
    assert_false(image_read(image, 11, bytes, 0));
    assert_false(image_read(image, UINT64_MAX, bytes, 2));
    assert_false(image_read(image, 2, bytes, SIZE_MAX));
    char *loaded = image_load(image, 3, 4, 4);
    assert_non_null(loaded);
    assert_memory_equal(loaded, "3456", 4);
    free(loaded);
    assert_null(image_load(image, 3, 4, 3));
    assert_null(image_load(image, 3, 0, 9));
    assert_null(image_load(image, 3, 8, 9));
    assert_null(image_load(image, 11, 1, 9));
    assert_null(image_load(image, UINT64_MAX, 2, 9));
    loaded = image_load(image, 3, 7, 9);
    assert_non_null(loaded);
    free(loaded);
}

static void test_bounds(void **state)
{
    char bytes[8];
    (void)state;
    int fd = temporary("0123456789", 10), copy = temporary("", 0);
    check_bounds(&(struct image){.bytes = (const unsigned char *)"0123456789", .fd = -1, .size = 10});
    check_bounds(&(struct image){.fd = fd, .size = 10});
    /* It became shorter than it was said to be. */
    assert_false(image_read(&(struct image){.fd = fd, .size = 20}, 8, bytes, 4));
    assert_null(image_load(&(struct image){.fd = fd, .size = 20}, 8, 4, 9));
    assert_false(image_read(&(struct image){.fd = -1, .size = 20}, 8, bytes, 4));
    /* What is read is copied to the same place. */
    assert_true(image_read(&(struct image){.fd = fd, .size = 10, .copy = copy}, 4, bytes, 3));
    assert_int_equal(lseek(copy, 0, SEEK_END), 7);
    assert_int_equal(pread(copy, bytes, 7, 0), 7);
    assert_memory_equal(bytes, "\0\0\0\0" "456", 7);
    int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_false(image_read(&(struct image){.fd = fd, .size = 10, .copy = read_only}, 4, bytes, 3));
    close(read_only);
    close(fd);
    close(copy);
}

/* ---- ELF files ---- */

static struct {
    Elf64_Ehdr header;
    Elf64_Phdr programs[20];
    char tail[64];
} elf;

static void make_elf(unsigned programs)
{
    memset(&elf, 0, sizeof(elf));
    memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
    elf.header.e_ident[EI_CLASS] = ELFCLASS64;
    elf.header.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.header.e_machine = EM_X86_64;
    elf.header.e_entry = 0x401234;
    elf.header.e_phentsize = sizeof(Elf64_Phdr);
    elf.header.e_phnum = (Elf64_Half)programs;
    elf.header.e_phoff = sizeof(elf.header);
    for (unsigned i = 0; i < programs; i++)
        elf.programs[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000 * (i + 1),
                                       .p_vaddr = 0x400000 + 0x10000 * i, .p_filesz = 0x800, .p_memsz = 0x900};
}

static bool reads(struct unwind_file *file)
{
    memset(file, 0, sizeof(*file));
    bool valid = file_read(file, &(struct image){.bytes = (const unsigned char *)&elf, .fd = -1, .size = sizeof(elf)});
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
        case 0: elf.header.e_ident[3]++; break;
        case 1: elf.header.e_ident[EI_CLASS] = ELFCLASS32; break;
        case 2: elf.header.e_ident[EI_DATA] = ELFDATA2MSB; break;
        case 3: elf.header.e_machine = EM_386; break;
        case 4: elf.header.e_phentsize--; break;
        case 5: elf.header.e_phoff = sizeof(elf) - sizeof(Elf64_Phdr) + 1; break;
        }
        if (reads(&file))
            fail_msg("way %d", way);
    }
    make_elf(1);
    elf.header.e_phoff = sizeof(elf) - sizeof(Elf64_Phdr); /* the last ones that fit */
    assert_true(reads(&file));
    assert_int_equal(file.segment_count, 0);
}

static void test_addresses(void **state)
{
    struct unwind_file file;
    uint64_t address = 7;
    (void)state;
    make_elf(20);
    elf.programs[1].p_flags = PF_R; /* without code */
    elf.programs[2].p_type = PT_NOTE;
    assert_true(reads(&file));
    assert_int_equal(file.segment_count, FILE_SEGMENTS);
    assert_false(file_address(&file, 0xfff, &address));
    assert_int_equal(address, 7);
    assert_true(file_address(&file, 0x1000, &address));
    assert_int_equal(address, 0x400000);
    assert_true(file_address(&file, 0x17ff, &address));
    assert_int_equal(address, 0x4007ff);
    assert_false(file_address(&file, 0x1800, &address));
    assert_false(file_address(&file, 0x2000, &address));
    assert_false(file_address(&file, 0x3000, &address));
    assert_true(file_address(&file, 0x4001, &address));
    assert_int_equal(address, 0x430001);
    assert_true(file_address(&file, 0x12000, &address)); /* the last one that is kept */
    assert_int_equal(address, 0x510000);
    assert_false(file_address(&file, 0x13000, &address));
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
    int fd = temporary(&elf, sizeof(elf)), text = temporary("text", 4), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct unwind_file *file = unwind_files_fd(files, fd);
    assert_non_null(file);
    assert_ptr_equal(unwind_files_fd(files, fd), file);
    assert_int_equal(unwind_files_size(files, &count), file_size(file));
    assert_int_equal(count, 1);
    /* What is none is remembered as such. */
    assert_null(unwind_files_fd(files, text));
    assert_null(unwind_files_fd(files, text));
    unwind_files_size(files, &count);
    assert_int_equal(count, 2);
    assert_null(unwind_files_fd(files, null));
    assert_null(unwind_files_fd(files, -1));
    assert_int_equal(unwind_files_size(files, NULL), 2 * file_size(file));
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
    struct unwind_stat key = {1, 2, sizeof(elf), 3, 4}, other;
    size_t count;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    int fd = temporary(&elf, sizeof(elf)), empty = temporary("", 0);
    struct unwind_file *file = unwind_files_copy(files, &key, fd);
    assert_non_null(file);
    assert_ptr_equal(unwind_files_copy(files, &key, empty), file);
    other = key, other.dev += 64; /* in the same bucket */
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
    assert_ptr_equal(unwind_files_copy(files, &key, empty), file);
    unwind_files_free(files);
    close(fd);
    close(empty);
}

static void test_images(void **state)
{
    size_t count;
    (void)state;
    make_elf(1);
    struct unwind_files *files = unwind_files_new();
    struct unwind_file *one = unwind_files_image(files, "[one]", &elf, sizeof(elf));
    struct unwind_file *two = unwind_files_image(files, "[two]", &elf, sizeof(elf));
    assert_true(one && two && one != two);
    assert_ptr_equal(unwind_files_image(files, "[one]", NULL, 0), one);
    assert_null(unwind_files_image(files, "[no]", "text", 4));
    assert_null(unwind_files_image(files, "[no]", &elf, sizeof(elf)));
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
    int fd = temporary(&elf, sizeof(elf)), text = temporary("text", 4), copy = temporary("", 0);
    assert_int_equal(unwind_copy_tables(text, 4, copy), -ENOEXEC);
    assert_int_equal(unwind_copy_tables(fd, sizeof(elf), copy), 0);
    Elf64_Ehdr header;
    assert_int_equal(pread(copy, &header, sizeof(header), 0), sizeof(header));
    assert_memory_equal(&header, &elf.header, sizeof(header));
    close(fd);
    close(text);
    close(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds), cmocka_unit_test(test_headers), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_files),  cmocka_unit_test(test_keys),    cmocka_unit_test(test_images),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
