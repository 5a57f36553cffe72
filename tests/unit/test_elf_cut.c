/* SPDX-License-Identifier: MIT */
/* What of an ELF file an archive keeps, and build-ids wherever they stand. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "analyze/sym/dwarf_bytes.h"
#include "analyze/sym/elf_cut.h"
#include "analyze/sym/elf_file.h"
#include "elf_kit.h"

static char path[] = "/tmp/pinject-elf-cut-XXXXXX";

/* ---- calls that the test leads */

static struct {
    size_t most; /* of a pread(); 0: all */
    size_t end;  /* behind it a pread() gives what `at_end` says; 0: nowhere */
    ssize_t at_end;
    int no_memfd; /* errno of memfd_create() */
} leads;

ssize_t __real_pread(int fd, void *ret, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset)
{
    if (leads.end && (size_t)offset >= leads.end)
        return leads.at_end;
    return __real_pread(fd, ret, leads.most && leads.most < size ? leads.most : size, offset);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!leads.no_memfd)
        return __real_memfd_create(name, flags);
    errno = leads.no_memfd;
    return -1;
}

static int set_up(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- elf_cut() */

enum { RELOCATIONS_MAX = 1 << 20, DEBUG = 4000 };

static unsigned char debug_bytes[DEBUG];

/* What is kept of the file at `path`. */
static void cut(struct elf_file *ret)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    unsigned fds = check_open_fds();
    assert_int_equal(elf_cut(path, &bytes, &size), 0);
    assert_int_equal(check_open_fds(), fds);
    assert_int_equal(elf_file_init_memory(ret, bytes, size), 0);
    free(bytes);
}

static const struct elf_kit_section kept_sections[] = {
    {".symtab", SHT_SYMTAB, 0, 0, sizeof(Elf64_Sym), 0, .size = 2 * sizeof(Elf64_Sym)},
    {".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x100, sizeof(Elf64_Sym), 0, .size = sizeof(Elf64_Sym)},
    {".strtab", SHT_STRTAB, 0, .size = 3},
    {".dynstr", SHT_STRTAB, SHF_ALLOC, 0x200, .size = 3},
    {".note.any", SHT_NOTE, SHF_ALLOC, 0x300, .size = 16},
    {".gnu_debuglink", SHT_PROGBITS, 0, .size = 12},
    {".gnu_debugaltlink", SHT_PROGBITS, 0, .size = 12},
    {".gnu_debugdata", SHT_PROGBITS, 0, .size = 12},
    {".debug_info", SHT_PROGBITS, 0, .size = 20},
    {".debug_info.dwo", SHT_PROGBITS, 0, .size = 20},
    {".zdebug_line", SHT_PROGBITS, 0, .size = 20},
    {".debug_str", SHT_PROGBITS, 0, .size = 511},
    {".rela.plt", SHT_RELA, SHF_ALLOC, 0x400, .size = RELOCATIONS_MAX / 24 * 24},
    {".rel.dyn", SHT_REL, SHF_ALLOC, 0x400, .size = RELOCATIONS_MAX},
    {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, .size = RELOCATIONS_MAX},
    {".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2100, .size = 16},
    {".got", SHT_PROGBITS, SHF_ALLOC, 0x3000, .size = RELOCATIONS_MAX},
};

static const struct elf_kit_section dropped_sections[] = {
    {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, .size = 100},
    {".data", SHT_PROGBITS, SHF_ALLOC, 0x5000, .size = 100},
    {".comment", SHT_PROGBITS, 0, .size = 100},
    {".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x4000, .size = 100}, /* there is a .symtab */
    {".debug_frame", SHT_PROGBITS, 0, .size = 100},
    {".debug_inf", SHT_PROGBITS, 0, .size = 100},
    {".debug_info.dw", SHT_PROGBITS, 0, .size = 100},
    {".debug_info2", SHT_PROGBITS, 0, .size = 100},
    {".xdebug_info", SHT_PROGBITS, 0, .size = 100},
    {".rela.text", SHT_RELA, SHF_ALLOC, 0x500, .size = RELOCATIONS_MAX + 8},
    {".plt.got", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2200, .size = RELOCATIONS_MAX + 1},
    {".got.plt", SHT_PROGBITS, SHF_ALLOC, 0x3100, .size = RELOCATIONS_MAX + 1},
};

static void test_sections(void **state)
{
    enum {
        KEPT = sizeof(kept_sections) / sizeof(kept_sections[0]),
        DROPPED = sizeof(dropped_sections) / sizeof(dropped_sections[0])
    };
    struct elf_kit_section all[KEPT + DROPPED + 1] = {{NULL}};
    /* What is not loaded is no piece of memory. */
    const GElf_Phdr programs[] = {{.p_type = PT_NOTE, .p_flags = PF_R, .p_vaddr = 0x1000, .p_filesz = 0x20},
                                  {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_filesz = 0x1234},
                                  {.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x5000, .p_memsz = 9}};
    const struct elf_kit_file file = {.programs = programs, .program_count = 3};
    struct elf_file elf, cut_elf;
    size_t size;
    (void)state;
    for (size_t i = 0; i < KEPT; i++)
        all[i] = kept_sections[i];
    for (size_t i = 0; i < DROPPED; i++)
        all[KEPT + i] = dropped_sections[i];
    all[KEPT + DROPPED] = (struct elf_kit_section){".debug_none", SHT_PROGBITS};
    elf_kit_write(path, &file, all, KEPT + DROPPED + 1);
    assert_int_equal(elf_file_init(&elf, path), 0);
    assert_int_equal(elf.load_count, 2);
    assert_int_equal(elf.loads[0].p_type, PT_LOAD);
    cut(&cut_elf);
    assert_int_equal(cut_elf.section_count, elf.section_count);
    for (size_t i = 0; i < elf.section_count; i++) {
        const struct elf_file_section *from = &elf.sections[i], *to = &cut_elf.sections[i];
        bool kept = i < KEPT || i == elf.section_count - 1; /* the last one has the names */
        assert_string_equal(to->name, from->name);
        assert_true(to->header.sh_addr == from->header.sh_addr && to->header.sh_flags == from->header.sh_flags);
        assert_int_equal(to->header.sh_type, kept ? from->header.sh_type : SHT_NOBITS);
        if (kept || (from->header.sh_flags & SHF_ALLOC))
            assert_int_equal(to->header.sh_size, from->header.sh_size);
        else
            assert_int_equal(to->header.sh_size, 0);
        /* perf computes addresses with these. */
        if (strncmp(from->name, ".plt", 4) == 0 || (!kept && (from->header.sh_flags & SHF_ALLOC)))
            assert_int_equal(to->header.sh_offset, from->header.sh_offset);
        assert_int_equal(to->header.sh_link, from->header.sh_link);
        if (kept) {
            const void *was = elf_file_data(from, &size), *is = elf_file_data(to, &size);
            assert_non_null(is);
            assert_memory_equal(is, was, size);
        }
    }
    assert_int_equal(cut_elf.load_count, 2);
    assert_memory_equal(cut_elf.loads, elf.loads, 2 * sizeof(*elf.loads));
    assert_int_equal(cut_elf.header.e_machine, EM_X86_64);
    assert_int_equal(cut_elf.header.e_type, ET_DYN);
    elf_file_release(&cut_elf);
    elf_file_release(&elf);
}

/* A linkage table behind much code moves: the archive is not for zeros. perf, which would have false names, has none
 * then. */
static void test_far_plt(void **state)
{
    enum { LOW_MAX = 4 << 20 };
    unsigned char *code = calloc(1, LOW_MAX);
    (void)state;
    assert_non_null(code);
    for (int far = 0; far < 2; far++) {
        const struct elf_kit_section sections[] = {
            {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, .bytes = code,
             .size = far ? LOW_MAX : LOW_MAX / 2},
            {".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x100, sizeof(Elf64_Sym), .size = sizeof(Elf64_Sym)},
            {".rela.plt", SHT_RELA, SHF_ALLOC, 0x200, sizeof(Elf64_Rela), 2, .size = sizeof(Elf64_Rela)},
            {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000000, .bytes = "stubs", .size = 5},
        };
        struct elf_file elf, cut_elf;
        size_t size;
        elf_kit_write(path, NULL, sections, 4);
        assert_int_equal(elf_file_init(&elf, path), 0);
        cut(&cut_elf);
        assert_memory_equal(elf_file_data(&cut_elf.sections[3], &size), "stubs", 5);
        assert_int_equal(cut_elf.sections[0].header.sh_offset, elf.sections[0].header.sh_offset);
        assert_int_equal(cut_elf.sections[3].header.sh_offset == elf.sections[3].header.sh_offset, !far);
        assert_int_equal(cut_elf.sections[2].header.sh_link, far ? 0 : 2);
        assert_true(far ? cut_elf.file_size < 4096 : cut_elf.file_size < LOW_MAX);
        elf_file_release(&cut_elf);
        elf_file_release(&elf);
    }
    free(code);
}

/* Sections that lie upon each other and upon the headers, or nowhere in the file. */
static void test_overlap(void **state)
{
    static const struct elf_kit_section sections[] = {
        {".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x100, sizeof(Elf64_Sym), .size = 48},
        {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, .bytes = "0123456789abcdef", .size = 16},
        {".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2100, .bytes = "ghijklmnopqrstuv", .size = 16},
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x3000, .size = 16},
    };
    static const uint64_t offsets[][4] = {
        {0, 0, 0, 0}, {60, 40, 50, UINT64_MAX}, {200, 190, 180, UINT64_MAX - 15}, {0, 64, UINT64_MAX - 7, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        Elf64_Ehdr header;
        Elf64_Shdr section;
        struct elf_file elf, cut_elf;
        elf_kit_write(path, NULL, sections, 4);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
        for (size_t j = 0; j < 4; j++) {
            off_t at = (off_t)(header.e_shoff + (j + 1) * sizeof(section));
            assert_int_equal(pread(fd, &section, sizeof(section), at), sizeof(section));
            section.sh_offset = offsets[i][j];
            assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
        }
        close(fd);
        assert_int_equal(elf_file_init(&elf, path), 0);
        cut(&cut_elf);
        for (size_t j = 0; j < 4; j++) {
            size_t size, cut_size;
            const void *was = elf_file_data(&elf.sections[j], &size);
            const void *is = elf_file_data(&cut_elf.sections[j], &cut_size);
            if (j == 3 || !was)
                assert_null(is);
            else
                assert_true(cut_size == size && memcmp(is, was, size) == 0);
        }
        elf_file_release(&cut_elf);
        elf_file_release(&elf);
    }
}

/* Of a file that has no names else .eh_frame says where functions begin. */
static void test_stripped(void **state)
{
    static const struct {
        const char *other;
        uint32_t type;
        bool kept;
    } cases[] = {
        {".data", SHT_PROGBITS, true}, {".symtab", SHT_SYMTAB, false}, {".gnu_debugdata", SHT_PROGBITS, false}};
    struct elf_file elf;
    size_t size;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct elf_kit_section sections[] = {{".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x1000, .size = 48},
                                                   {cases[i].other, cases[i].type, 0, .size = 48}};
        elf_kit_write(path, NULL, sections, 2);
        cut(&elf);
        assert_int_equal(elf_file_data(&elf.sections[0], &size) != NULL, cases[i].kept);
        elf_file_release(&elf);
    }
}

/* Debug information is packed where that makes it smaller, and reads as before; 32 bits and 64. */
static void test_packed(void **state)
{
    uint64_t random = 88172645463325252u;
    (void)state;
    for (size_t i = 0; i < sizeof(debug_bytes); i++)
        debug_bytes[i] = (unsigned char)(i / 16);
    static unsigned char noise[600];
    for (size_t i = 0; i < sizeof(noise); i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        noise[i] = (unsigned char)random;
    }
    const struct elf_kit_section sections[] = {
        {".debug_info", SHT_PROGBITS, 0, .bytes = debug_bytes, .size = DEBUG},
        {".debug_abbrev", SHT_PROGBITS, 0, .bytes = debug_bytes, .size = 512},
        {".debug_line", SHT_PROGBITS, 0, .bytes = debug_bytes, .size = 511},
        {".debug_str", SHT_PROGBITS, 0, .bytes = noise, .size = sizeof(noise)},
    };
    for (int class = ELFCLASS32; class <= ELFCLASS64; class ++) {
        for (int order = ELFDATA2LSB; order <= ELFDATA2MSB; order++) {
            const struct elf_kit_file file = {class, order, EM_PPC64, NULL, 0};
            bool packs = order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
            struct dwarf_sections debug;
            struct elf_file elf;
            elf_kit_write(path, &file, sections, 4);
            cut(&elf);
            assert_int_equal(elf.header.e_ident[EI_CLASS], class);
            assert_int_equal(elf.header.e_ident[EI_DATA], order);
            for (size_t i = 0; i < 4; i++) {
                bool packed = elf.sections[i].header.sh_flags & SHF_COMPRESSED;
                assert_int_equal(packed, packs && i < 2);
                assert_true(packed ? elf.sections[i].header.sh_size < sections[i].size / 2
                                   : elf.sections[i].header.sh_size == sections[i].size);
            }
            dwarf_sections_init(&debug, &elf, false);
            assert_false(debug.unreadable);
            assert_int_equal(debug.part[DWARF_INFO].size, DEBUG);
            assert_memory_equal(debug.part[DWARF_INFO].at, debug_bytes, DEBUG);
            assert_int_equal(debug.part[DWARF_ABBREV].size, 512);
            assert_memory_equal(debug.part[DWARF_ABBREV].at, debug_bytes, 512);
            assert_memory_equal(debug.part[DWARF_STR].at, noise, sizeof(noise));
            dwarf_sections_release(&debug);
            /* What is packed stays as it is. */
            unsigned char *bytes = NULL;
            struct elf_file again;
            size_t size, again_size;
            assert_int_equal(elf_cut(path, &bytes, &size), 0);
            FILE *out = fopen(path, "w");
            assert_non_null(out);
            assert_int_equal(fwrite(bytes, 1, size, out), size);
            assert_int_equal(fclose(out), 0);
            free(bytes);
            cut(&again);
            for (size_t i = 0; i < elf.section_count; i++) {
                const void *was = elf_file_data(&elf.sections[i], &size);
                const void *is = elf_file_data(&again.sections[i], &again_size);
                assert_int_equal(again_size, size);
                assert_memory_equal(is, was, size);
            }
            elf_file_release(&again);
            elf_file_release(&elf);
        }
    }
}

static void test_failures(void **state)
{
    static const struct elf_kit_section sections[] = {{".symtab", SHT_SYMTAB, 0, 0, 24, 0, .size = 4800}};
    unsigned char *bytes = NULL, *whole = NULL;
    size_t size = 77, whole_size;
    (void)state;
    unsigned fds = check_open_fds();
    elf_kit_write(path, NULL, sections, 1);
    assert_int_equal(elf_cut(path, &whole, &whole_size), 0);
    /* Piece by piece. */
    leads.most = 7;
    assert_int_equal(elf_cut(path, &bytes, &size), 0);
    assert_int_equal(size, whole_size);
    assert_memory_equal(bytes, whole, size);
    free(bytes);
    free(whole);
    bytes = NULL;
    /* It ends too early, or cannot be read. */
    size = 77;
    for (int failing = 0; failing < 2; failing++) {
        leads.end = 1000;
        leads.at_end = failing ? -1 : 0;
        leads.most = 1000;
        assert_int_equal(elf_cut(path, &bytes, &size), -EIO);
    }
    memset(&leads, 0, sizeof(leads));
    leads.no_memfd = EMFILE;
    assert_int_equal(elf_cut(path, &bytes, &size), -EMFILE);
    memset(&leads, 0, sizeof(leads));
    assert_int_equal(elf_cut("/does/not/exist", &bytes, &size), -ENOENT);
    assert_int_equal(elf_cut("/proc/self/status", &bytes, &size), -ENOEXEC);
    assert_true(!bytes && size == 77);
    assert_int_equal(check_open_fds(), fds);
}

/* ---- build-ids */

struct notes {
    uint32_t words[2048];
    size_t count;
};

static void put_note(struct notes *notes, const char *owner, uint32_t type, uint32_t size, unsigned align)
{
    uint32_t owner_size = (uint32_t)strlen(owner) + 1;
    notes->words[notes->count++] = owner_size;
    notes->words[notes->count++] = size;
    notes->words[notes->count++] = type;
    memcpy(&notes->words[notes->count], owner, owner_size);
    notes->count += (owner_size + 3) / 4;
    while (notes->count % (align / 4))
        notes->count++;
    memset(&notes->words[notes->count], (int)(0x40 + size), size);
    notes->count += (size + 3) / 4;
    while (notes->count % (align / 4))
        notes->count++;
}

/* The build-id of the file at `path` has SIZE bytes. */
static void id_is(size_t size)
{
    struct elf_file elf;
    unsigned char expected[ELF_FILE_BUILD_ID_MAX];
    assert_int_equal(elf_file_init(&elf, path), 0);
    assert_int_equal(elf.build_id_size, size);
    memset(expected, (int)(0x40 + size), sizeof(expected));
    assert_memory_equal(elf.build_id, expected, size);
    elf_file_release(&elf);
}

static void test_notes(void **state)
{
    static const struct {
        const char *owner;
        uint32_t type, size;
        bool is_id;
    } cases[] = {
        {"GNU", NT_GNU_BUILD_ID, 20, true},  {"GNU", NT_GNU_BUILD_ID, 1, true},    {"GNU", NT_GNU_BUILD_ID, 64, true},
        {"GNU", NT_GNU_BUILD_ID, 65, false}, {"GNU", NT_GNU_BUILD_ID, 0, false},   {"GNU", NT_GNU_ABI_TAG, 16, false},
        {"GNX", NT_GNU_BUILD_ID, 20, false}, {"GNUS", NT_GNU_BUILD_ID, 20, false}, {"GN", NT_GNU_BUILD_ID, 20, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct notes notes = {.count = 0};
        put_note(&notes, cases[i].owner, cases[i].type, cases[i].size, 4);
        const struct elf_kit_section alone[] = {{".note", SHT_NOTE, .bytes = notes.words, .size = notes.count * 4}};
        elf_kit_write(path, NULL, alone, 1);
        id_is(cases[i].is_id ? cases[i].size : 0);
        /* Others follow, in the same section and in the next ones. */
        put_note(&notes, "GNU", NT_GNU_BUILD_ID, 33, 4);
        struct notes more = {.count = 0};
        put_note(&more, "GNU", NT_GNU_BUILD_ID, 44, 4);
        const struct elf_kit_section both[] = {{".note", SHT_NOTE, .bytes = notes.words, .size = notes.count * 4},
                                               {".note.2", SHT_NOTE, .bytes = more.words, .size = more.count * 4}};
        elf_kit_write(path, NULL, both, 2);
        id_is(cases[i].is_id ? cases[i].size : 33);
    }
}

/* 64 places of notes are looked at, none of more than 1 MiB. */
static void test_many_notes(void **state)
{
    struct elf_kit_section sections[65] = {{NULL}};
    struct notes notes = {.count = 0}, other = {.count = 0};
    (void)state;
    put_note(&notes, "GNU", NT_GNU_BUILD_ID, 20, 4);
    put_note(&other, "GNU", NT_GNU_ABI_TAG, 16, 4);
    for (size_t last = 63; last < 65; last++) {
        for (size_t i = 0; i < 65; i++)
            sections[i] = (struct elf_kit_section){".note", SHT_NOTE, .bytes = other.words, .size = other.count * 4};
        sections[last].bytes = notes.words;
        sections[last].size = notes.count * 4;
        elf_kit_write(path, NULL, sections, 65);
        id_is(last < 64 ? 20 : 0);
    }
    for (size_t more = 0; more < 2; more++) {
        unsigned char *large = calloc(1, (1 << 20) + 4);
        assert_non_null(large);
        memcpy(large, notes.words, notes.count * 4);
        const struct elf_kit_section one[] = {{".note", SHT_NOTE, .bytes = large, .size = (1 << 20) + 4 * more}};
        elf_kit_write(path, NULL, one, 1);
        id_is(more ? 0 : 20);
        free(large);
    }
}

/* Without a table of sections the program headers say where notes are. */
static void test_notes_of_programs(void **state)
{
    (void)state;
    for (unsigned align = 4; align <= 8; align += 4) {
        struct {
            Elf64_Ehdr header;
            Elf64_Phdr programs[5];
            unsigned char notes[512];
        } file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                             .e_type = ET_DYN,
                             .e_machine = EM_X86_64,
                             .e_version = EV_CURRENT,
                             .e_phoff = sizeof(Elf64_Ehdr),
                             .e_ehsize = sizeof(Elf64_Ehdr),
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = 5}};
        struct notes notes = {.count = 0}, wrong = {.count = 0};
        size_t at = offsetof(__typeof__(file), notes);
        put_note(&notes, "GNU", 5, 4, align);
        put_note(&notes, "GNU", NT_GNU_BUILD_ID, 20, align);
        put_note(&wrong, "GNU", NT_GNU_BUILD_ID, 30, align);
        memcpy(file.notes, wrong.words, wrong.count * 4);
        memcpy(file.notes + 384, notes.words, notes.count * 4);
        file.programs[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = at, .p_filesz = wrong.count * 4};
        file.programs[1] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at, .p_filesz = (1 << 20) + 1};
        file.programs[2] = file.programs[3] = (Elf64_Phdr){
            .p_type = PT_NOTE, .p_offset = at + 300, .p_filesz = 12, .p_align = align};
        file.programs[4] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at + 384, .p_filesz = 1 << 20, .p_align = align};
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(&file, sizeof(file), 1, out), 1);
        /* So large that what says more than 1 MiB lies inside it. */
        assert_int_equal(fclose(out), 0);
        assert_int_equal(truncate(path, 2 << 20), 0);
        id_is(20);
        unsigned char *bytes = NULL;
        size_t size = 0;
        assert_int_equal(elf_cut(path, &bytes, &size), -ENOEXEC); /* it has no sections */
    }
}

/* ---- addresses */

/* At the border of two segments the file is mapped twice: code counts, in whatever order they are. */
static void test_addresses(void **state)
{
    GElf_Phdr loads[] = {{.p_flags = PF_R, .p_offset = 0x1000, .p_vaddr = 0x5000, .p_filesz = 0x100},
                         {.p_flags = PF_R | PF_X, .p_offset = 0x1080, .p_vaddr = 0x9080, .p_filesz = 0x100},
                         {.p_flags = PF_R, .p_offset = 0x1100, .p_vaddr = 0xd100, .p_filesz = 0x100}};
    static const uint64_t expected[][2] = {{0xfff, 0},       {0x1000, 0x5000}, {0x107f, 0x507f}, {0x1080, 0x9080},
                                           {0x117f, 0x917f}, {0x1180, 0xd180}, {0x11ff, 0xd1ff}, {0x1200, 0}};
    const struct elf_file elf = {.fd = -1, .loads = loads, .load_count = 3};
    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        uint64_t address = 0;
        assert_int_equal(elf_file_address(&elf, expected[i][0], &address), expected[i][1] != 0);
        assert_int_equal(address, expected[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),  cmocka_unit_test(test_far_plt),    cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_stripped),  cmocka_unit_test(test_packed),     cmocka_unit_test(test_failures),
        cmocka_unit_test(test_notes),     cmocka_unit_test(test_many_notes), cmocka_unit_test(test_notes_of_programs),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
