/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "elf_kit.h"

#include <fcntl.h>

uint32_t elf_kit_text(char *bytes, size_t *size, const char *text)
{
    uint32_t at = (uint32_t)*size;

    memcpy(bytes + at, text, strlen(text) + 1);
    *size += strlen(text) + 1;
    return at;
}

static void add_section(Elf *elf, const struct elf_kit_section *section, uint32_t name)
{
    static const char zeros[1 << 22];
    Elf_Scn *scn = elf_newscn(elf);
    GElf_Shdr header;

    assert_non_null(scn);
    assert_non_null(gelf_getshdr(scn, &header));
    header.sh_name = name;
    header.sh_type = section->type;
    header.sh_flags = section->flags;
    header.sh_addr = section->address;
    header.sh_entsize = section->entry_size;
    header.sh_link = section->link;
    assert_true(gelf_update_shdr(scn, &header));
    if (!section->size)
        return;
    Elf_Data *data = elf_newdata(scn);
    assert_non_null(data);
    assert_true(section->bytes || section->size <= sizeof(zeros));
    *data = (Elf_Data){.d_buf = (void *)(uintptr_t)(section->bytes ? section->bytes : zeros),
                       .d_size = section->size,
                       .d_type = section->as,
                       .d_align = 1,
                       .d_version = EV_CURRENT};
}

void elf_kit_write(const char *path, const struct elf_kit_file *file, const struct elf_kit_section *sections,
                   size_t count)
{
    static const struct elf_kit_file usual;
    char *names = calloc(count + 2, 64);
    size_t names_size = 1;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);

    file = file ? file : &usual;
    assert_true(names && fd >= 0);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    assert_non_null(elf);
    elf_flagelf(elf, ELF_C_SET, ELF_F_PERMISSIVE); /* sizes may be odd */
    assert_true(gelf_newehdr(elf, file->class ? file->class : ELFCLASS64));
    if (file->program_count)
        assert_true(gelf_newphdr(elf, file->program_count));
    for (size_t i = 0; i < count; i++)
        add_section(elf, &sections[i], elf_kit_text(names, &names_size, sections[i].name));
    uint32_t own = elf_kit_text(names, &names_size, ".shstrtab");
    add_section(elf, &(struct elf_kit_section){".shstrtab", SHT_STRTAB, .bytes = names, .size = names_size}, own);
    GElf_Ehdr header;
    assert_non_null(gelf_getehdr(elf, &header));
    header.e_ident[EI_DATA] = (unsigned char)(file->order ? file->order : ELFDATA2LSB);
    header.e_machine = (GElf_Half)(file->machine ? file->machine : EM_X86_64);
    header.e_type = ET_DYN;
    header.e_version = EV_CURRENT;
    header.e_shstrndx = (GElf_Half)(count + 1);
    assert_true(gelf_update_ehdr(elf, &header));
    for (size_t i = 0; i < file->program_count; i++)
        assert_true(gelf_update_phdr(elf, (int)i, (GElf_Phdr *)(uintptr_t)&file->programs[i]));
    assert_true(elf_update(elf, ELF_C_WRITE) > 0);
    elf_end(elf);
    close(fd);
    free(names);
}
