/* SPDX-License-Identifier: MIT */
/* Names of the running kernel, or of one whose symbol list was saved. */
#include "analyze/sym/sym_dso.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char running_listing[] = "/proc/kallsyms";

/* The build-id in the raw notes TEXT[SIZE]. Its size; 0 when there is none. */
static size_t find_build_id(const char *notes, size_t size, unsigned char ret_build_id[ELF_FILE_BUILD_ID_MAX])
{
    size_t at = 0;

    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        size_t name, description;

        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || description > size - at - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) &&
            note.n_descsz <= ELF_FILE_BUILD_ID_MAX) {
            memcpy(ret_build_id, notes + at + name, note.n_descsz);
            return note.n_descsz;
        }
        at += name + description;
    }
    return 0;
}

static size_t running_build_id(unsigned char ret_build_id[ELF_FILE_BUILD_ID_MAX])
{
    struct text_names notes;
    size_t size;

    if (text_names_init(&notes, "/sys/kernel/notes", 0, NULL) != 0)
        return 0;
    size = find_build_id(notes.text, notes.size, ret_build_id);
    text_names_release(&notes);
    return size;
}

/* Whether the recorded kernel can be the running one. *ret_proven: the build-id proves it. */
static bool is_running_kernel(const struct symbols_dso *dso, bool *ret_proven)
{
    unsigned char build_id[ELF_FILE_BUILD_ID_MAX];
    size_t build_id_size = dso->build_id_size ? running_build_id(build_id) : 0;
    struct utsname name;

    *ret_proven = false;
    if (dso->osrelease && uname(&name) == 0 && strcmp(dso->osrelease, name.release))
        return false;
    if (!build_id_size)
        return true;
    *ret_proven = elf_file_same_build_id(dso->build_id, dso->build_id_size, build_id, build_id_size);
    return *ret_proven;
}

/*
 * After a reboot the kernel has other addresses (KASLR). With the same build-id the core kernel moved as a whole;
 * modules did not move with it, so symbols_find() then gives no names of modules.
 */
static bool find_shift(struct symbols_dso *dso, const struct kallsyms_facts *facts, bool proven)
{
    if (!dso->reference || !dso->reference_address || !facts->reference)
        return true;
    dso->shift = dso->reference_address - facts->reference;
    return dso->shift == 0 || proven;
}

/* Whether the file's text begins with BEGIN or, if that is NULL, contains PART. */
static bool file_has(const char *path, const char *begin, const char *part)
{
    struct text_names file;

    if (text_names_init(&file, path, 0, NULL) != 0)
        return false;
    bool found = begin ? !strncmp(file.text, begin, strlen(begin)) : strstr(file.text, part) != NULL;
    text_names_release(&file);
    return found;
}

/*
 * Whether CAP_SYSLOG as a capability of its file would show the addresses to this program, with kptr_restrict below 2.
 * If the bounding set lacks it, a program with that file capability cannot be executed.
 */
static bool may_have_syslog(void)
{
    enum { CAPABILITY_SYSLOG = 34 };

    return prctl(PR_CAPBSET_READ, CAPABILITY_SYSLOG, 0, 0, 0) == 1 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
}

/* The uid map of a user namespace does not have all users. A kernel without user namespaces has no such file. */
static bool in_user_namespace(void)
{
    static const char map[] = "/proc/self/uid_map";

    return file_has(map, "", NULL) && !file_has(map, NULL, "4294967295");
}

static const char *hidden_addresses(void)
{
    static char text[PATH_MAX + 256]; /* outlives every DSO, and is the same for all */
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (in_user_namespace())
        return "/proc/kallsyms hides the addresses in a user namespace; run panalyze as root outside of the namespace";
    if (file_has("/proc/sys/kernel/kptr_restrict", "2", NULL))
        return "/proc/kallsyms hides the addresses from everybody; set kernel.kptr_restrict to 1 and run panalyze as "
               "root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1";
    if (geteuid() == 0)
        return "/proc/kallsyms hides the addresses: root has no CAP_SYSLOG here (a container?); run panalyze with "
               "CAP_SYSLOG (docker run --cap-add SYSLOG), or set kernel.kptr_restrict to 0 and "
               "kernel.perf_event_paranoid to 1";
    if (size <= 0 || !may_have_syslog())
        return "/proc/kallsyms hides the addresses; run panalyze as root, or set kernel.kptr_restrict to 0 and "
               "kernel.perf_event_paranoid to 1";
    self[size] = '\0';
    snprintf(text, sizeof(text),
             "/proc/kallsyms hides the addresses; run panalyze as root, or type once as root: "
             "setcap cap_syslog+ep %s",
             self);
    return text;
}

static void load_running(struct symbols_dso *dso)
{
    struct kallsyms_facts facts;
    bool proven;

    if (!is_running_kernel(dso, &proven)) {
        sym_dso_missing(dso, SYMBOLS_OTHER_KERNEL,
                        dso->osrelease && !*dso->osrelease
                            ? "the files do not say which kernel was sampled"
                            : "the samples are of another kernel than the one that runs now");
        return;
    }
    if (text_names_init(&dso->text, running_listing, 0, NULL) != 0) {
        sym_dso_missing(dso, SYMBOLS_RESTRICTED, "/proc/kallsyms cannot be read");
        return;
    }
    text_names_add_kallsyms(&dso->text, &dso->table, dso->reference, &facts);
    if (dso->table.failed)
        sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
    if (facts.hidden)
        sym_dso_missing(dso, SYMBOLS_RESTRICTED, hidden_addresses());
    else if (!dso->table.finished)
        sym_dso_missing(dso, SYMBOLS_RESTRICTED, "/proc/kallsyms has no names");
    if (!find_shift(dso, &facts, proven)) {
        name_table_release(&dso->table);
        sym_dso_missing(dso, SYMBOLS_OTHER_KERNEL,
                        "the kernel's addresses have changed: the machine was rebooted after the recording");
    }
}

/* Opens the symbol list of the recorded kernel in an archive or in perf's cache. */
static bool open_saved(const struct symbols_dso *dso, struct text_names *ret, char **ret_path)
{
    const struct debug_roots *roots = &dso->owner->roots;
    char hex[2 * ELF_FILE_BUILD_ID_MAX + 1] = "";

    for (size_t i = 0; i < dso->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", dso->build_id[i]);
    for (size_t i = 0; *hex && i < roots->count; i++) {
        if (asprintf(ret_path, "%s/[kernel.kallsyms]/%s/kallsyms", roots->paths[i], hex) < 0)
            return false;
        if (text_names_init(ret, *ret_path, 0, NULL) == 0)
            return true;
        free(*ret_path);
    }
    return false;
}

/* Replaces what load_running() found. */
static void load_saved(struct symbols_dso *dso, struct text_names *text, char *path)
{
    struct kallsyms_facts facts;

    name_table_release(&dso->table);
    text_names_release(&dso->text);
    name_table_init(&dso->table, &dso->pool, dso->owner->no_demangle);
    dso->text = *text;
    dso->listing = path;
    dso->missing = 0;
    dso->why = NULL;
    dso->shift = 0;
    text_names_add_kallsyms(&dso->text, &dso->table, dso->reference, &facts);
    if (dso->table.failed)
        sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
    else if (!dso->table.finished || (dso->reference && dso->reference_address && !facts.reference))
        sym_dso_missing(dso, SYMBOLS_BROKEN, "the saved list of the kernel's symbols is damaged");
    if (dso->missing)
        name_table_release(&dso->table);
    else
        find_shift(dso, &facts, true);
}

void sym_dso_load_kernel(struct symbols_dso *dso)
{
    struct text_names saved;
    char *path;

    if (dso->owner->no_kernel) {
        sym_dso_missing(dso, SYMBOLS_NO_FILE, "the names of the kernel are not looked up");
        return;
    }
    load_running(dso);
    /* If the running kernel has other addresses, it gives no names of modules. */
    if ((dso->missing || dso->shift) && open_saved(dso, &saved, &path))
        load_saved(dso, &saved, path);
    else if (!dso->missing)
        dso->listing = strdup(running_listing);
}

int symbols_kernel_cut(struct symbols_dso *kernel, const uint64_t *addresses, size_t count, char **ret,
                       size_t *ret_size)
{
    struct kallsyms_wanted wanted = {.count = count, .reference = kernel->reference};
    const char *listing = symbols_kernel_file(kernel);
    struct text_names text;
    uint64_t *shifted;
    int error = listing ? text_names_init(&text, listing, 0, NULL) : -ENODATA;

    if (error)
        return error;
    shifted = malloc((count + 1) * sizeof(*shifted));
    for (size_t i = 0; shifted && i < count; i++)
        shifted[i] = addresses[i] - kernel->shift;
    wanted.addresses = shifted;
    wanted.shift = kernel->shift;
    error = shifted ? text_names_cut_kallsyms(&text, &wanted, ret, ret_size) : -ENOMEM;
    free(shifted);
    text_names_release(&text);
    return error;
}

const char *symbols_kernel_file(struct symbols_dso *kernel)
{
    symbols_missing(kernel); /* loads it */
    return kernel->listing;
}
