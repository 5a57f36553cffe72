/* SPDX-License-Identifier: MIT */
#include "analyze/read/trace_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/bytes.h"

#define COMMON_PREFIX "common_" /* fields that all events have */

/* A piece of a format text. */
struct piece {
    const char *at, *end;
};

static bool piece_starts(struct piece piece, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(piece.end - piece.at) >= size && memcmp(piece.at, word, size) == 0;
}

static bool piece_has(struct piece piece, const char *word)
{
    return memmem(piece.at, (size_t)(piece.end - piece.at), word, strlen(word)) != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct piece piece_trim(struct piece piece)
{
    while (piece.at < piece.end && is_blank(*piece.at))
        piece.at++;
    while (piece.end > piece.at && is_blank(piece.end[-1]))
        piece.end--;
    return piece;
}

/* What is before the next END; *REST begins after it. */
static struct piece piece_take(struct piece *rest, char end)
{
    const char *found = memchr(rest->at, end, (size_t)(rest->end - rest->at));
    struct piece piece = {rest->at, found ? found : rest->end};
    rest->at = found ? found + 1 : rest->end;
    return piece;
}

/* The number after KEY ("offset:"). */
static bool take_number(struct piece piece, const char *key, uint32_t *ret)
{
    uint64_t number = 0;
    piece = piece_trim(piece);
    if (!piece_starts(piece, key))
        return false;
    const char *at = piece.at + strlen(key), *first = at;
    for (; at < piece.end && *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    *ret = (uint32_t)number;
    return at > first && at == piece.end && number <= UINT32_MAX;
}

/* Bytes of an element of an array whose size says nothing about it. */
static uint32_t element_size(struct piece type)
{
    static const struct {
        const char *word;
        uint32_t size;
    } sizes[] = {{"64", 8}, {"long", 8}, {"size_t", 8}, {"*", 8}, {"32", 4}, {"int", 4}, {"16", 2}, {"short", 2}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (piece_has(type, sizes[i].word))
            return sizes[i].size;
    return 1;
}

/* The type and the name of "unsigned long args[6]" or "__data_loc char[] filename". */
static int take_declaration(struct piece text, struct arena *arena, struct trace_field *field)
{
    text = piece_trim(text);
    uint32_t count = 0;
    if (text.end > text.at && text.end[-1] == ']') {
        const char *bracket = text.end;
        while (bracket > text.at && *bracket != '[')
            bracket--;
        const char *at = bracket + 1;
        for (; at < text.end && *at >= '0' && *at <= '9' && count < UINT32_MAX / 10; at++)
            count = count * 10 + (uint32_t)(*at - '0');
        text.end = bracket;
        field->is_array = true;
    }
    const char *name = text.end;
    while (name > text.at && !is_blank(name[-1]) && name[-1] != '*')
        name--;
    struct piece type = piece_trim((struct piece){text.at, name});
    if (name == text.end || type.at == type.end)
        return -EBADMSG;
    field->place = piece_starts(type, "__data_loc")  ? TRACE_DYNAMIC
                   : piece_starts(type, "__rel_loc") ? TRACE_RELATIVE
                                                     : TRACE_FIXED;
    field->is_array |= field->place != TRACE_FIXED || piece_has(type, "[");
    field->is_string = field->is_array && (piece_has(type, "char") || piece_has(type, "u8") || piece_has(type, "s8")) &&
                       !piece_has(type, "*");
    field->hexadecimal = piece_has(type, "*") || piece_has(type, "long");
    field->element = element_size(type);
    if (field->place == TRACE_FIXED && count && field->size % count == 0)
        field->element = field->size / count;
    field->name = arena_text(arena, name, (size_t)(text.end - name));
    field->type = arena_text(arena, type.at, (size_t)(type.end - type.at));
    return field->name && field->type ? 0 : -ENOMEM;
}

/* A line "field:TYPE NAME; offset:N; size:N; signed:N;". Older kernels do not say whether it is signed. */
static int take_field(struct piece line, struct arena *arena, struct trace_field *ret)
{
    struct piece declaration = piece_take(&line, ';'), offset = piece_take(&line, ';'), size = piece_take(&line, ';');
    uint32_t is_signed = 0;
    *ret = (struct trace_field){0};
    if (!take_number(offset, "offset:", &ret->offset) || !take_number(size, "size:", &ret->size))
        return -EBADMSG;
    ret->is_signed = take_number(piece_take(&line, ';'), "signed:", &is_signed) && is_signed;
    declaration.at += strlen("field:");
    return take_declaration(declaration, arena, ret);
}

static int add_field(struct arena *arena, struct trace_field **fields, uint32_t *capacity, struct trace_event *event,
                     struct piece line)
{
    struct trace_field field;
    int status = take_field(line, arena, &field);
    if (status < 0)
        return status;
    if (strncmp(field.name, COMMON_PREFIX, strlen(COMMON_PREFIX)) == 0)
        return 0;
    if (arena_room(fields, capacity, event->field_count, sizeof(field)) < 0)
        return -ENOMEM;
    (*fields)[event->field_count++] = field;
    return 0;
}

static int take_line(struct piece line, struct arena *arena, struct trace_field **fields, uint32_t *capacity,
                     bool *has_id, struct trace_event *event)
{
    line = piece_trim(line);
    if (piece_starts(line, "name:")) {
        struct piece name = piece_trim((struct piece){line.at + strlen("name:"), line.end});
        event->name = arena_text(arena, name.at, (size_t)(name.end - name.at));
        return event->name ? 0 : -ENOMEM;
    }
    if (piece_starts(line, "ID:")) {
        struct piece id = piece_trim((struct piece){line.at + strlen("ID:"), line.end});
        *has_id = take_number(id, "", &event->id);
        return 0;
    }
    return piece_starts(line, "field:") ? add_field(arena, fields, capacity, event, line) : 0;
}

int trace_event_parse(const char *text, size_t size, const char *system, struct arena *arena, struct trace_event *ret)
{
    struct piece rest = {text, text + size};
    struct trace_field *fields = NULL;
    uint32_t capacity = 0;
    bool has_id = false;
    int status = 0;
    *ret = (struct trace_event){.system = system};
    while (status == 0 && rest.at < rest.end) {
        struct piece line = piece_take(&rest, '\n');
        if (piece_starts(line, "print fmt:"))
            break;
        status = take_line(line, arena, &fields, &capacity, &has_id, ret);
    }
    if (status == 0 && (!ret->name || !*ret->name || !has_id))
        status = -EBADMSG;
    if (status == 0) {
        ret->fields = ret->field_count ? arena_copy(arena, fields, ret->field_count * sizeof(*fields)) : NULL;
        status = ret->fields || !ret->field_count ? 0 : -ENOMEM;
    }
    free(fields);
    return status;
}

/* The events while they are read. */
struct reading {
    struct trace_formats *formats;
    struct arena *arena;
    struct trace_event *events;
    uint32_t capacity;
};

static struct cursor take_sized(struct cursor *section)
{
    uint64_t size = cursor_u64(section);
    return cursor_part(section, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
}

static int take_event(struct reading *reading, struct cursor *section, const char *system)
{
    struct cursor text = take_sized(section);
    struct trace_event event;
    if (text.failed)
        return 0;
    int status = trace_event_parse((const char *)text.at, cursor_left(&text), system, reading->arena, &event);
    if (status < 0)
        return status == -ENOMEM ? status : 0;
    uint32_t *count = &reading->formats->event_count;
    if (arena_room(&reading->events, &reading->capacity, *count, sizeof(event)) < 0)
        return -ENOMEM;
    reading->events[(*count)++] = event;
    return 0;
}

static int take_system(struct reading *reading, struct cursor *section, const char *name)
{
    const char *system = arena_text(reading->arena, name, strlen(name) + 1);
    if (!system)
        return -ENOMEM;
    int status = 0;
    for (uint32_t left = cursor_u32(section); status == 0 && left > 0 && !section->failed; left--)
        status = take_event(reading, section, system);
    return status;
}

/* The head: magic, version, byte order, sizes, and how the kernel lays out its own buffers, which perf has no use for.
 */
static bool take_head(struct cursor *section, struct trace_formats *ret, struct arena *arena)
{
    static const unsigned char magic[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const unsigned char *start = cursor_bytes(section, sizeof(magic));
    const char *version = start && memcmp(start, magic, sizeof(magic)) == 0 ? cursor_string(section) : NULL;
    if (!version)
        return false;
    ret->version = arena_text(arena, version, strlen(version) + 1);
    const bool big = cursor_u8(section) != 0;
    ret->swap = section->swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    ret->long_bytes = cursor_u8(section);
    ret->page_bytes = cursor_u32(section);
    for (int i = 0; i < 2; i++) {
        cursor_string(section); /* "header_page", "header_event" */
        take_sized(section);
    }
    return true;
}

static int compare_events(const void *left, const void *right)
{
    const struct trace_event *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int take_all(struct reading *reading, struct cursor *section)
{
    int status = 0;
    /* The events of ftrace itself have no system. */
    for (uint32_t left = cursor_u32(section); status == 0 && left > 0 && !section->failed; left--)
        status = take_event(reading, section, "ftrace");
    for (uint32_t left = cursor_u32(section); status == 0 && left > 0 && !section->failed; left--) {
        const char *name = cursor_string(section);
        if (name)
            status = take_system(reading, section, name);
    }
    return status;
}

int trace_formats_read(struct cursor section, struct arena *arena, struct trace_formats *ret)
{
    struct reading reading = {.formats = ret, .arena = arena};
    *ret = (struct trace_formats){0};
    if (!take_head(&section, ret, arena))
        return -EBADMSG;
    int status = ret->version ? take_all(&reading, &section) : -ENOMEM;
    ret->damaged = section.failed;
    if (status == 0 && ret->event_count) {
        qsort(reading.events, ret->event_count, sizeof(*reading.events), compare_events);
        ret->events = arena_copy(arena, reading.events, ret->event_count * sizeof(*reading.events));
        status = ret->events ? 0 : -ENOMEM;
    }
    free(reading.events);
    if (status < 0)
        ret->event_count = 0;
    return status;
}

const struct trace_event *trace_formats_find(const struct trace_formats *formats, uint64_t id)
{
    const struct trace_event key = {.id = (uint32_t)id};
    if (id > UINT32_MAX || formats->event_count == 0)
        return NULL;
    return bsearch(&key, formats->events, formats->event_count, sizeof(key), compare_events);
}

static uint64_t number_at(const unsigned char *at, uint32_t size, bool swap)
{
    switch (size) {
    case 1: return *at;
    case 2: return bytes_u16(at, swap);
    case 4: return bytes_u32(at, swap);
    default: return bytes_u64(at, swap);
    }
}

static bool is_number(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static void print_number(const struct trace_field *field, const unsigned char *at, bool swap, struct buffer *to)
{
    uint64_t number = number_at(at, field->size, swap);
    unsigned spare = 64 - 8 * field->size;
    if (field->hexadecimal && !field->is_signed)
        buffer_printf(to, "0x%" PRIx64, number);
    else if (field->is_signed)
        buffer_printf(to, "%" PRId64, (int64_t)(number << spare) >> spare);
    else
        buffer_printf(to, "%" PRIu64, number);
}

static void print_array(const struct trace_field *field, const unsigned char *at, size_t size, bool swap,
                        struct buffer *to)
{
    uint32_t element = is_number(field->element) && size % field->element == 0 ? field->element : 1;
    buffer_append(to, "ARRAY[", 6);
    for (size_t done = 0; done < size; done += element)
        buffer_printf(to, "%s%02" PRIx64, done ? ", " : "", number_at(at + done, element, swap));
    buffer_append(to, "]", 1);
}

/* Where the bytes of FIELD are. NULL: not in the payload. */
static const unsigned char *find_bytes(const struct trace_formats *formats, const struct trace_field *field,
                                       const unsigned char *raw, size_t size, size_t *ret_size)
{
    if (field->offset > size || field->size > size - field->offset)
        return NULL;
    *ret_size = field->size;
    if (field->place == TRACE_FIXED)
        return raw + field->offset;
    if (field->size != 4)
        return NULL;
    uint32_t word = bytes_u32(raw + field->offset, formats->swap);
    size_t at = (word & 0xffff) + (field->place == TRACE_RELATIVE ? (size_t)field->offset + 4 : 0);
    *ret_size = word >> 16;
    return at <= size && *ret_size <= size - at ? raw + at : NULL;
}

void trace_field_print(const struct trace_formats *formats, const struct trace_field *field, const unsigned char *raw,
                       size_t size, struct buffer *to)
{
    size_t found = 0;
    const unsigned char *at = find_bytes(formats, field, raw, size, &found);
    if (!at)
        buffer_append(to, "?", 1);
    else if (field->is_string)
        buffer_append(to, at, strnlen((const char *)at, found));
    else if (!field->is_array && is_number(field->size))
        print_number(field, at, formats->swap, to);
    else
        print_array(field, at, found, formats->swap, to);
}

void trace_event_print(const struct trace_formats *formats, const struct trace_event *event, const unsigned char *raw,
                       size_t size, struct buffer *to)
{
    for (uint32_t i = 0; i < event->field_count; i++) {
        buffer_printf(to, "%s%s=", i ? " " : "", event->fields[i].name);
        trace_field_print(formats, &event->fields[i], raw, size, to);
    }
}
