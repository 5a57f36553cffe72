/* SPDX-License-Identifier: MIT */
/* Where addresses lay at the time of a sample. */
#include "analyze/model/loader.h"

struct profile_frame profile_sample_code(const struct profile *profile, const struct profile_sample *sample,
                                         uint64_t address)
{
    struct loader *loader = profile->loader;
    struct profile_frame frame = {.offset = address, .ip = address};
    chain_place_code(&loader->chain, sample->place, sample->record, &frame);
    return frame;
}

bool profile_sample_is_guest(const struct profile_sample *sample)
{
    return chain_is_guest(sample->record);
}

static struct profile_mapping show_mapping(const struct profile *profile, const struct mapping *mapping)
{
    const struct loader *loader = profile->loader;
    if (!mapping)
        return (struct profile_mapping){0};
    return (struct profile_mapping){
        .start = mapping->start,
        .end = mapping->end,
        .pgoff = mapping->pgoff,
        .module = store_module_at(&loader->store, mapping->module),
    };
}

struct profile_data profile_sample_data(const struct profile *profile, const struct profile_sample *sample,
                                        uint64_t address)
{
    const struct space *code = profile_is_kernel(address) ? sample->place->kernel : sample->place->user;
    const struct space *data = profile_is_kernel(address) || !sample->place->data ? code : sample->place->data;
    const struct mapping *at = space_find(data, address), *before = at ? space_below(data, at->start) : NULL;
    return (struct profile_data){
        .at = show_mapping(profile, at),
        .before = show_mapping(profile, before && before->end == at->start ? before : NULL),
        .code = {show_mapping(profile, space_find(code, address)), show_mapping(profile, space_below(code, address)),
                 show_mapping(profile, space_above(code, address))},
    };
}
