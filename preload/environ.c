/* SPDX-License-Identifier: MIT */
#include "environ.h"
#include "pinject/wire.h"

#include <errno.h>
#include "text.h"

#define SESSION PINJECT_ENV_SESSION "="
#define PRELOAD "LD_PRELOAD="
#define TRACE   "LD_TRACE_LOADED_OBJECTS="

enum { IS_OTHER, IS_SESSION, IS_PRELOAD, IS_TRACE };

static bool is_separator(char c)
{
    return c == ':' || c == ' ';
}

static size_t token_length(const char *at)
{
    size_t length = 0;
    while (at[length] != 0 && !is_separator(at[length]))
        length++;
    return length;
}

static bool token_is(const char *token, size_t length, const char *text)
{
    return text && strlen(text) == length && memcmp(token, text, length) == 0;
}

/*
 * Ours is the path that we know, or any path with our file's name (a relative path, another copy): two preload objects
 * would count twice.
 */
static bool token_is_ours(const char *token, size_t length, const char *preload)
{
    static const char name[] = PINJECT_PRELOAD_NAME;
    const size_t size = sizeof(name) - 1;
    if (token_is(token, length, preload))
        return true;
    return length >= size && memcmp(token + length - size, name, size) == 0 &&
           (length == size || token[length - size - 1] == '/');
}

static size_t put_bytes(char *out, size_t at, const char *bytes, size_t size)
{
    if (out && size > 0)
        memmove(out + at, bytes, size);
    return at + size;
}

bool pinject_ld_preload_has(const char *value, const char *preload)
{
    while (*value) {
        size_t length = token_length(value);
        if (length > 0 && token_is_ours(value, length, preload))
            return true;
        value += length + (value[length] != 0);
    }
    return false;
}

/* Does VALUE have exactly this path? */
static bool names_preload(const char *value, const char *preload)
{
    while (*value) {
        size_t length = token_length(value);
        if (token_is(value, length, preload))
            return true;
        value += length + (value[length] != 0);
    }
    return false;
}

size_t pinject_ld_preload_join(const char *value, const char *preload, char *out)
{
    size_t size = 0;
    if (!pinject_ld_preload_has(value, preload)) {
        size = put_bytes(out, size, preload, strlen(preload));
        size = put_bytes(out, size, ":", 1);
        return put_bytes(out, size, value, strlen(value));
    }
    while (*value) {
        size_t length = token_length(value);
        if (length > 0 && token_is_ours(value, length, preload))
            size = put_bytes(out, size, preload, strlen(preload));
        else
            size = put_bytes(out, size, value, length);
        if (value[length] != 0)
            size = put_bytes(out, size, value + length++, 1);
        value += length;
    }
    return size;
}

size_t pinject_ld_preload_leave(const char *value, const char *preload, char *out, bool *ret_gone)
{
    size_t size = 0;
    bool had = false, separated = false;
    while (*value) {
        size_t length = token_length(value);
        bool ours = length > 0 && token_is_ours(value, length, preload);
        bool last = value[length] == 0;
        if (ours) {
            had = true;
            separated = !last;
            /* The separator after it goes too. After the last entry there is none, so the one before it goes. */
            if (last && size > 0)
                size--;
        } else {
            size = put_bytes(out, size, value, length + !last);
        }
        value += length + !last;
    }
    *ret_gone = had && size == 0 && !separated;
    return size;
}

const char *pinject_env_value(char *const *envp, const char *name_and_equals)
{
    size_t size = strlen(name_and_equals);
    for (; envp && *envp; envp++)
        if (strncmp(*envp, name_and_equals, size) == 0)
            return *envp + size;
    return NULL;
}

static bool starts_with(const char *entry, const char *name)
{
    return strncmp(entry, name, strlen(name)) == 0;
}

static bool session_is_ours(const char *entry, struct pinject_ours ours)
{
    return !ours.session || strcmp(entry, ours.session) == 0;
}

/* What happens to an entry. */
enum verdict { KEEP, DROP, CHANGE };

static enum verdict judge_variable(const struct pinject_env_layout *layout, size_t index, const char *entry,
                                   size_t *ret_size)
{
    *ret_size = 0;
    if (entry[0] == 'P' && starts_with(entry, SESSION))
        return !layout->join && session_is_ours(entry, layout->ours) ? DROP : KEEP;
    if (entry[0] != 'L' || !starts_with(entry, PRELOAD))
        return KEEP;
    const char *value = entry + strlen(PRELOAD);
    bool gone = false;
    size_t size;
    if (layout->join && index != layout->preload_at)
        return KEEP;
    if (layout->join) {
        size = pinject_ld_preload_join(value, layout->ours.preload, NULL);
    } else {
        if (!pinject_ld_preload_has(value, layout->ours.preload))
            return KEEP;
        size = pinject_ld_preload_leave(value, layout->ours.preload, NULL, &gone);
    }
    *ret_size = strlen(PRELOAD) + size + 1;
    return gone ? DROP : CHANGE;
}

/*
 * Which variable the entry is. Reads as much of it as it needs to compare; all of it if it is one of them. Negative:
 * wild.
 */
static int classify_entry(struct pinject_safe_read *safe, const char *entry)
{
    static const char *const names[] = {[IS_SESSION] = SESSION, [IS_PRELOAD] = PRELOAD, [IS_TRACE] = TRACE};
    /* Most entries differ from all names in the first byte. */
    if (!pinject_safe_read(safe, entry, 1))
        return -EFAULT;
    if (*entry != 'P' && *entry != 'L')
        return IS_OTHER;
    unsigned possible = 1u << IS_SESSION | 1u << IS_PRELOAD | 1u << IS_TRACE;
    for (size_t i = 0; possible; i++) {
        if (!pinject_safe_read(safe, entry + i, 1))
            return -EFAULT;
        for (int which = IS_SESSION; which <= IS_TRACE; which++) {
            if (!(possible >> which & 1))
                continue;
            if (entry[i] != names[which][i]) {
                possible &= ~(1u << which);
            } else if (!names[which][i + 1]) {
                long length = pinject_safe_length(safe, entry, PINJECT_ENV_STRING);
                return length < 0 ? (int)length : which;
            }
        }
    }
    return IS_OTHER;
}

/*
 * Counts the entries, and finds the variables. Every byte that judge_variable() and build read later has been checked
 * here. An exec generation of which the loader only lists the DSOs (ldd) must not get ours.
 */
static int scan_vector(struct pinject_env_layout *layout, bool *ret_foreign)
{
    struct pinject_safe_read safe = {0};
    size_t last_preload = 0;
    bool has_preload = false;
    for (;; layout->entries++) {
        if (!pinject_safe_read(&safe, layout->envp + layout->entries, sizeof(char *)))
            return -EFAULT;
        const char *entry = layout->envp[layout->entries];
        if (!entry)
            break;
        if (layout->entries >= PINJECT_ENV_ENTRIES)
            return -E2BIG;
        int found = classify_entry(&safe, entry);
        if (found < 0)
            return found;
        if (found == IS_SESSION) {
            layout->has_session = true;
            *ret_foreign |= !session_is_ours(entry, layout->ours);
        } else if (found == IS_PRELOAD) {
            has_preload = true;
            last_preload = layout->entries;
        } else if (found == IS_TRACE) {
            layout->join = false;
        }
    }
    layout->preload_at = has_preload ? last_preload : layout->entries;
    return 0;
}

int pinject_env_layout(struct pinject_env_layout *layout, char *const *envp, struct pinject_ours ours, bool join)
{
    bool foreign = false;
    *layout = (struct pinject_env_layout){.envp = envp, .ours = ours, .join = join};
    if (envp) {
        int error = scan_vector(layout, &foreign);
        if (error < 0)
            return error;
    }
    if (foreign)
        return 0;
    join = layout->join;
    size_t strings = 0;
    for (size_t i = 0; i < layout->entries; i++) {
        size_t size;
        enum verdict verdict = judge_variable(layout, i, envp[i], &size);
        /* A join that finds our entry there, by the right path, changes nothing. */
        if (verdict == DROP)
            layout->changes = true;
        if (verdict != CHANGE)
            continue;
        strings += size;
        layout->changes |= !join || size != strlen(envp[i]) + 1 ||
                           !names_preload(envp[i] + strlen(PRELOAD), ours.preload);
    }
    if (join && layout->preload_at == layout->entries) {
        strings += strlen(PRELOAD) + strlen(ours.preload) + 1;
        layout->changes = true;
    }
    if (join && !layout->has_session)
        layout->changes = true; /* the session's string is the caller's own */
    layout->bytes = (layout->entries + 3) * sizeof(char *) + strings;
    return 0;
}

static char *write_preload(const struct pinject_env_layout *layout, const char *value, char *out)
{
    bool gone;
    size_t size = put_bytes(out, 0, PRELOAD, strlen(PRELOAD));
    if (!layout->join)
        size += pinject_ld_preload_leave(value, layout->ours.preload, out + size, &gone);
    else if (value)
        size += pinject_ld_preload_join(value, layout->ours.preload, out + size);
    else
        size = put_bytes(out, size, layout->ours.preload, strlen(layout->ours.preload));
    out[size] = 0;
    return out + size + 1;
}

char **pinject_env_build(const struct pinject_env_layout *layout, void *memory)
{
    char **out = memory;
    char *strings = (char *)(out + layout->entries + 3);
    size_t count = 0;
    for (size_t i = 0; i < layout->entries; i++) {
        size_t size;
        enum verdict verdict = judge_variable(layout, i, layout->envp[i], &size);
        if (verdict == KEEP)
            out[count++] = layout->envp[i];
        if (verdict != CHANGE)
            continue;
        out[count++] = strings;
        strings = write_preload(layout, layout->envp[i] + strlen(PRELOAD), strings);
    }
    /* Ours come last, so that removing them moves no other string. */
    if (layout->join && !layout->has_session)
        out[count++] = (char *)(uintptr_t)layout->ours.session;
    if (layout->join && layout->preload_at == layout->entries) {
        out[count++] = strings;
        write_preload(layout, NULL, strings);
    }
    out[count] = NULL;
    return out;
}

size_t pinject_env_leave_in_place(char **envp, struct pinject_ours ours, char *buffer, size_t size)
{
    struct pinject_env_layout layout = {.ours = ours};
    size_t kept = 0, index = 0;
    bool gone;
    for (; envp[index]; index++) {
        size_t needed;
        char *entry = envp[index];
        enum verdict verdict = judge_variable(&layout, index, entry, &needed);
        if (verdict == DROP)
            continue;
        if (verdict == CHANGE) {
            char *out = entry;
            if (buffer && needed <= size) {
                out = buffer;
                memcpy(out, PRELOAD, strlen(PRELOAD));
                buffer += needed;
                size -= needed;
            }
            char *end = out + strlen(PRELOAD);
            end += pinject_ld_preload_leave(entry + strlen(PRELOAD), ours.preload, end, &gone);
            *end = 0;
            entry = out;
        }
        /* If nothing is removed nothing is written: the vector may be in read-only memory. */
        if (envp[kept] != entry)
            envp[kept] = entry;
        kept++;
    }
    for (size_t i = kept; i < index; i++)
        envp[i] = NULL;
    return index - kept;
}
