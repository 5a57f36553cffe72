/* SPDX-License-Identifier: MIT */
/* Looks up the names of many frames at once, and makes frames for inlined functions. */
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/names_data.h"
#include "analyze/view/symbol_batch.h"

/* The frame for the inlined FUNCTION, the same wherever it is inlined. */
static uint32_t inlined_frame(struct names *names, struct map *known, uint32_t function)
{
    uint32_t index = map_add(known, function, 0), frame = names->profile->frame_count + index;
    if (frame < names->frame_count)
        return frame;
    const struct names_entry *entry = &names->function_list[function];
    struct names_place *place = memory_new(1, sizeof(*place));
    *place = (struct names_place){
        .symbol = names->strings.texts[entry->symbol],
        .dso = names->strings.texts[entry->dso],
        .function = function,
        .dso_id = entry->dso,
        .named = true,
        .inlined = true,
    };
    names_make_room(names, (size_t)frame + 1);
    names->places[frame] = place;
    names->functions_of[frame] = function + 1;
    names->dsos_of[frame] = entry->dso + 1;
    return frame;
}

static void put_inlined(struct names *names, uint32_t number)
{
    names->inlined =
        memory_grow(names->inlined, &names->inlined_capacity, names->inlined_count + 1, sizeof(*names->inlined));
    names->inlined[names->inlined_count++] = number;
}

/* Takes the functions inlined at FRAME: all of LINES except the last, which contains the code. */
static void take_inlined(struct names *names, struct map *known, uint32_t frame, const struct symbol_line *lines,
                         uint32_t count)
{
    uint32_t function = names->functions_of[frame];
    const char *dso = function ? names->strings.texts[names->function_list[function - 1].dso]
                               : names_dso_name(&names->profile->frames[frame]);
    names->inlined_at[frame] = (uint32_t)names->inlined_count;
    put_inlined(names, count - 1);
    for (uint32_t i = 0; i + 1 < count; i++) {
        const char *symbol = lines[i].function ? lines[i].function : "[unknown]";
        function = names_number(names, dso, symbol, lines[i].raw_function, NAMES_NAMED | NAMES_INLINED);
        put_inlined(names, inlined_frame(names, known, function));
    }
}

void names_symbolize(struct names *names, const bool *wanted, bool inlined, unsigned threads)
{
    const struct profile *profile = names->profile;
    if (names->symbolized || !names->symbols)
        return;
    names->symbolized = true;
    names_make_room(names, profile->frame_count);
    struct symbol_batch *batch = symbol_batch_new(names, profile, wanted, BATCH_SYMBOLS | (inlined ? BATCH_INLINED : 0),
                                                  threads);
    struct map known = {0};
    if (inlined) {
        names->inlined_at = memory_new(profile->frame_count, sizeof(*names->inlined_at));
        put_inlined(names, 0);
    }
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct symbol_batch_frame *found = symbol_batch_frame(batch, i);
        const struct symbol symbol = {.name = found->name, .raw_name = found->raw_name, .module = found->module};
        if (found->name && !names->functions_of[i])
            names->functions_of[i] = names_number_symbol(names, &profile->frames[i], &symbol) + 1;
        if (inlined && found->line_count)
            take_inlined(names, &known, i, symbol_batch_lines(batch, found), found->line_count);
    }
    map_release(&known);
    symbol_batch_free(batch);
}

bool names_shows_inlined(const struct names *names)
{
    return names->inlined_at != NULL;
}

const uint32_t *names_stack(struct names *names, uint32_t index, uint32_t *ret_depth)
{
    const struct profile_stack *stack = &names->profile->stacks[index];
    uint32_t plain = 0, depth = 0;
    *ret_depth = stack->depth;
    while (plain < stack->depth && names->inlined_at && !names->inlined_at[stack->frames[plain]])
        plain++;
    if (!names->inlined_at || plain == stack->depth)
        return stack->frames;
    for (uint32_t i = 0; i < stack->depth; i++) {
        const uint32_t *list = &names->inlined[names->inlined_at[stack->frames[i]]];
        names->stack = memory_grow(names->stack, &names->stack_capacity, (size_t)depth + *list + 1,
                                   sizeof(*names->stack));
        memcpy(names->stack + depth, list + 1, *list * sizeof(*list));
        depth += *list;
        names->stack[depth++] = stack->frames[i];
    }
    *ret_depth = depth;
    return names->stack;
}

bool names_is_inlined(const struct names *names, uint32_t frame)
{
    return names->inlined_at && frame >= names->profile->frame_count;
}

size_t names_frame_count(const struct names *names)
{
    return names->frame_count;
}
