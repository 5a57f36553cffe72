/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/flame.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* ---- Untrusted text ---- */

/* U+FFFE and U+FFFF: the only characters that text_clean() keeps and XML forbids. AT: valid UTF-8. */
static bool is_forbidden(const unsigned char *at)
{
    return at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
}

static size_t size_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static void put_character(FILE *to, char character)
{
    switch (character) {
    case '&': fputs("&amp;", to); break;
    case '<': fputs("&lt;", to); break;
    case '>': fputs("&gt;", to); break;
    case '"': fputs("&quot;", to); break;
    default: fputc(character, to);
    }
}

void markup_text(FILE *to, const char *text)
{
    char *clean = text_clean(text, true);
    for (const char *at = clean; *at;) {
        size_t size = size_of((unsigned char)*at);
        if (size == 1)
            put_character(to, *at);
        else if (is_forbidden((const unsigned char *)at))
            fputs("\xef\xbf\xbd", to);
        else
            fwrite(at, 1, size, to);
        at += size;
    }
    free(clean);
}

/* ---- The picture ---- */

/* In pixels. LETTER to LEAST_WIDTH are the same in flame.js, which fits the picture to its window. */
#define WIDTH          1200
#define SIDE           10
#define TOP            70
#define DETAILS        60
#define HEIGHT         16
#define LETTER         6.6
#define GAP            3
#define LEAST_LETTERS  4
#define SEAM           0.5 /* between neighbours */
#define LEAST_WIDTH    0.1
#define LINE           17
#define LEGEND_WIDTH   236
#define LEGEND_COLUMNS 5
#define TITLE_LETTERS  110
#define FACTS_LETTERS  135
#define LONGEST_NAME   2000         /* columns, in the details of a box */
#define EXACT          (1ull << 50) /* JavaScript counts exactly up to 2^53 */

extern const char flame_script[];

/* For DSOs in the order of their weight; the last colour is for all others. */
static const char *const colors[FLAME_COLORS + 1] = {"#f4a582", "#92c5de", "#b8e186", "#fdd49e", "#c2a5cf", "#80cdc1",
                                                     "#f1b6da", "#e6e49a", "#bdb6e8", "#d8b79a", "#d4d4d4"};
#define GROUP_COLOR  "#cfd8dc"
#define FOLDED_COLOR "#eceff1"

static const char style[] =
    "  <style>\n"
    "    svg.flame { background: #fff; font-family: monospace; font-size: 11px; }\n"
    "    .flame text { fill: #000; }\n"
    "    .flame .head { font-size: 15px; font-weight: bold; }\n"
    "    .flame .b text, .flame .legend { pointer-events: none; }\n"
    "    .flame .tools { display: none; }\n"
    "    .flame.lively .tools { display: inline; }\n"
    "    .flame.lively .b { cursor: pointer; outline: none; }\n"
    "    .flame.lively .b:hover rect, .flame.lively .b:focus rect { stroke: #000; stroke-width: 1.5px; }\n"
    "    .flame .b.dim { opacity: 0.55; }\n"
    "    .flame .b.folded { font-style: italic; }\n"
    "    .flame .b.hit rect { fill: #e600e6; }\n"
    "    .flame .b.hit text { fill: #fff; }\n"
    "    .flame #flame-reset { cursor: pointer; }\n"
    "    .flame #flame-reset.idle { opacity: 0.35; }\n"
    "    .flame #flame-reset rect { fill: #eee; stroke: #888; }\n"
    "    .flame #flame-reset:focus rect { stroke: #000; stroke-width: 2px; }\n"
    "    .flame input { width: 100%; box-sizing: border-box; font: inherit; }\n"
    "  </style>\n";

/* The position of a box in units of weight. */
struct span {
    uint64_t start, weight;
    uint32_t level;
};

/* The position of a box in pixels. */
struct place {
    double x, y, width;
};

static struct place place_of(const struct flame *flame, const struct span *span)
{
    uint64_t whole = flame->calls.nodes[0].weight;
    double scale = whole ? (WIDTH - 2 * SIDE) / (double)whole : 0;
    uint32_t row = flame->hanging ? span->level : flame->levels - 1 - span->level;
    double width = span->level || whole ? (double)span->weight * scale : WIDTH - 2 * SIDE;
    width = width > 4 * SEAM ? width - SEAM : width < LEAST_WIDTH ? LEAST_WIDTH : width;
    return (struct place){SIDE + (double)span->start * scale, TOP + (double)row * HEIGHT, width};
}

static const char *color_of(struct flame *flame, uint32_t index)
{
    if (flame->calls.nodes[index].frame == CALLS_GROUP)
        return GROUP_COLOR;
    const char *dso = calls_dso(&flame->calls, index);
    uint32_t rank = 0;
    while (rank < flame->dso_count && strcmp(flame->dsos[rank], dso) != 0)
        rank++;
    return colors[rank < flame->dso_count ? rank : FLAME_COLORS];
}

/* TEXT, cut to COLUMNS. It is made harmless before: a cut could split its multibyte characters. */
static void cut_text(FILE *to, const char *text, size_t columns)
{
    char *clean = text_clean(text, true);
    text_cut(clean, columns, true);
    markup_text(to, clean);
    free(clean);
}

static void text_line(FILE *to, double x, double y, const char *attributes, const char *text, size_t columns)
{
    fprintf(to, "  <text x=\"%.0f\" y=\"%.0f\"%s>", x, y, attributes);
    cut_text(to, text, columns);
    fputs("</text>\n", to);
}

/* The tooltip of a box. The first line is only the name, which the script reads. */
static void box_title(struct flame *flame, uint32_t index, const char *label, FILE *to)
{
    const struct calls_node *node = &flame->calls.nodes[index];
    const struct profile *profile = flame->view->profile;
    bool nanoseconds = profile->events[profile->event].nanoseconds;
    uint64_t whole = flame->calls.nodes[0].weight;
    char total[TEXT_AMOUNT], share[TEXT_AMOUNT], samples[TEXT_AMOUNT], self[TEXT_AMOUNT];
    fputs("<title>", to);
    cut_text(to, label, LONGEST_NAME);
    if (node->frame != CALLS_GROUP) {
        fputc('\n', to);
        cut_text(to, calls_dso(&flame->calls, index), LONGEST_NAME);
    }
    fprintf(to, "\n%s, %s, %s", text_weight(total, node->weight, nanoseconds), text_percent(share, node->weight, whole),
            text_plural(samples, node->samples, "sample", "samples"));
    if (node->self_weight)
        fprintf(to, "; self %s, %s", text_weight(self, node->self_weight, nanoseconds),
                text_percent(share, node->self_weight, whole));
    if (flame->calls.fold_recursion && node->repeats > 1)
        fprintf(to, "; recursive: it calls itself, up to %s levels deep", text_count(self, node->repeats));
    fputs("</title>", to);
}

static void begin_box(const struct flame *flame, const struct span *span, const char *kind, FILE *to)
{
    unsigned shift = 0;
    while (flame->calls.nodes[0].weight >> shift >= EXACT)
        shift++;
    uint64_t start = span->start >> shift, end = (span->start + span->weight) >> shift;
    fprintf(to, "    <g class=\"b%s\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-l=\"%" PRIu32 "\">", kind,
            start, end - start, span->level);
}

static void end_box(const struct flame *flame, const struct span *span, const char *color, const char *label, FILE *to)
{
    struct place place = place_of(flame, span);
    fprintf(to, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>", place.x, place.y, place.width,
            HEIGHT - 1, color);
    double room = (place.width - 2 * GAP) / LETTER;
    if (room >= LEAST_LETTERS) {
        char *clean = text_clean(label, true), *brief = brief_name(clean, (size_t)room, true);
        fprintf(to, "<text x=\"%.2f\" y=\"%.0f\">", place.x + GAP, place.y + 12);
        markup_text(to, brief);
        fputs("</text>", to);
        free(brief);
        free(clean);
    }
    fputs("</g>\n", to);
}

static void write_box(struct flame *flame, uint32_t index, FILE *to)
{
    const struct calls_node *node = &flame->calls.nodes[index];
    const struct span span = {flame->starts[index], node->weight, node->level};
    char *label = calls_label(&flame->calls, index);
    begin_box(flame, &span, "", to);
    box_title(flame, index, label, to);
    end_box(flame, &span, color_of(flame, index), label, to);
    free(label);
}

static void folded_box(const struct flame *flame, uint32_t parent, FILE *to)
{
    const struct flame_folded *folded = &flame->folded[parent];
    const struct span span = {folded->start, folded->weight, flame->calls.nodes[parent].level + 1};
    const struct profile *profile = flame->view->profile;
    char number[TEXT_AMOUNT], total[TEXT_AMOUNT], share[TEXT_AMOUNT], samples[TEXT_AMOUNT];
    char *label = memory_print("(%s)", text_plural(number, folded->count, "smaller box", "smaller boxes"));
    begin_box(flame, &span, " folded", to);
    fprintf(to, "<title>%s\n%s, %s, %s</title>", label,
            text_weight(total, folded->weight, profile->events[profile->event].nanoseconds),
            text_percent(share, folded->weight, flame->calls.nodes[0].weight),
            text_plural(samples, folded->samples, "sample", "samples"));
    end_box(flame, &span, FOLDED_COLOR, label, to);
    free(label);
}

/* In the order of the tree; a folded box comes after its siblings, as if it were the last child. */
static void write_boxes(struct flame *flame, FILE *to)
{
    const struct calls_node *nodes = flame->calls.nodes;
    uint32_t at = 0;
    do {
        write_box(flame, at, to);
        const uint32_t from = at;
        do
            at = calls_after(&flame->calls, at, flame->drawn[at]);
        while (at && !flame->drawn[at]);
        /* The boxes that end here: those from FROM up to the level of the next box. */
        for (uint32_t done = from;; done = nodes[done].parent) {
            if (at && nodes[done].level < nodes[at].level)
                break;
            if (flame_shows_folded(flame, done))
                folded_box(flame, done, to);
            if (!done)
                break;
        }
    } while (at);
}

static void write_tools(FILE *to)
{
    fprintf(
        to,
        "  <g class=\"tools\" id=\"flame-tools\">\n"
        "    <g id=\"flame-reset\" class=\"idle\" role=\"button\" tabindex=\"0\"><title>Reset the zoom (Esc)</title>"
        "<rect x=\"%d\" y=\"8\" width=\"78\" height=\"20\" rx=\"3\"/><text x=\"%d\" y=\"22\">Reset zoom</text></g>\n"
        "    <foreignObject x=\"%d\" y=\"6\" width=\"200\" height=\"26\"><input "
        "xmlns=\"http://www.w3.org/1999/xhtml\" id=\"flame-search\" type=\"search\" "
        "placeholder=\"Search, regular expression\" aria-label=\"Search functions, regular expression\"/>"
        "</foreignObject>\n"
        "    <text id=\"flame-matched\" x=\"%d\" y=\"46\" text-anchor=\"end\" role=\"status\"></text>\n"
        "  </g>\n",
        WIDTH - SIDE - 290, WIDTH - SIDE - 284, WIDTH - SIDE - 200, WIDTH - SIDE);
}

static void write_head(struct flame *flame, unsigned height, FILE *to)
{
    struct view *view = flame->view;
    char *command = view->settings->title ? memory_text(view->settings->title) : heading_command(view->profile);
    char *event = heading_event(view);
    const char *kind = view->settings->reverse ? "sampled functions above, their callers below"
                       : flame->hanging        ? "callers above, callees below"
                                               : "callers below, callees above";
    char *facts = memory_print("%s; width is the share of %s; %s", event,
                               view->profile->events[view->profile->event].name, kind);
    fprintf(
        to,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"100%%\" height=\"%u\" viewBox=\"0 0 %d %u\" "
        "preserveAspectRatio=\"xMinYMin meet\" "
        "role=\"group\" aria-labelledby=\"flame-title\" data-left=\"%d\" data-width=\"%d\" data-hanging=\"%d\">\n"
        "  <title id=\"flame-title\">",
        height, WIDTH, height, SIDE, WIDTH - 2 * SIDE, flame->hanging);
    cut_text(to, command, TITLE_LETTERS);
    fputs("</title>\n  <desc>", to);
    cut_text(to, facts, LONGEST_NAME);
    fputs("</desc>\n", to);
    fputs(style, to);
    fprintf(to, "  <rect x=\"0\" y=\"0\" width=\"100%%\" height=\"%u\" fill=\"#fff\"/>\n", height);
    text_line(to, SIDE, 22, " class=\"head\"", command, TITLE_LETTERS - 15);
    text_line(to, SIDE, 44, "", facts, FACTS_LETTERS);
    write_tools(to);
    free(facts);
    free(event);
    free(command);
}

static void write_legend(struct flame *flame, double y, FILE *to)
{
    uint64_t whole = flame->calls.nodes[0].weight, rest = whole;
    fputs("  <g class=\"legend\">\n", to);
    for (uint32_t i = 0; i <= flame->dso_count; i++) {
        bool other = i == flame->dso_count;
        if (other && !rest)
            break;
        uint64_t weight = other ? rest : flame->dso_weights[i];
        double x = SIDE + (double)(i % LEGEND_COLUMNS) * LEGEND_WIDTH, at = y + (double)(i / LEGEND_COLUMNS) * LINE;
        char share[TEXT_AMOUNT];
        char *text = memory_print("%s self %s", text_percent(share, weight, whole),
                                  other ? "others" : text_base(flame->dsos[i]));
        fprintf(to, "    <rect x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\" fill=\"%s\"/>\n  ", x, at - 9,
                colors[other ? FLAME_COLORS : i]);
        text_line(to, x + 16, at, "", text, 32);
        free(text);
        rest -= weight < rest ? weight : rest;
    }
    fputs("  </g>\n", to);
}

/* Notes what is not drawn. */
static void write_notes(const struct flame *flame, double y, FILE *to)
{
    uint64_t whole = flame->calls.nodes[0].weight;
    char share[TEXT_AMOUNT], number[TEXT_AMOUNT];
    if (flame->narrow_boxes) {
        const struct settings *settings = flame->view->settings;
        char *text = memory_print("Not drawn: %s %s %.2g %% each, together %s of the width; --min sets the limit",
                                  text_plural(number, flame->narrow_boxes, "branch", "branches"),
                                  settings->min_given ? "below" : "of at most",
                                  settings->min_given ? settings->min : text_share(flame->least, whole),
                                  text_percent(share, flame->narrow_weight, whole));
        text_line(to, SIDE, y, "", text, FACTS_LETTERS);
        free(text);
        y += LINE;
    }
    if (flame->deep_weight) {
        char *text = memory_print("Not drawn: calls deeper than %u levels, together %s of the width", flame->levels,
                                  text_percent(share, flame->deep_weight, whole));
        text_line(to, SIDE, y, "", text, FACTS_LETTERS);
        free(text);
        y += LINE;
    }
    if (flame->unwanted_weight) {
        char *text = memory_print("Not drawn: stacks that --symbol and --dso leave out (%s of the total); all shares "
                                  "refer to the drawn stacks",
                                  text_percent(share, flame->unwanted_weight, whole + flame->unwanted_weight));
        text_line(to, SIDE, y, "", text, FACTS_LETTERS);
        free(text);
    }
}

void flame_svg(struct flame *flame, FILE *to)
{
    unsigned below = TOP + flame->levels * HEIGHT + LINE;
    unsigned legend_rows = (flame->dso_count + LEGEND_COLUMNS) / LEGEND_COLUMNS;
    unsigned notes_at = below + LINE + 4 + legend_rows * LINE;
    unsigned rows = (flame->narrow_boxes > 0) + (flame->deep_weight > 0) + (flame->unwanted_weight > 0);
    write_head(flame, notes_at + rows * LINE, to);
    fputs("  <g class=\"boxes\">\n", to);
    write_boxes(flame, to);
    fputs("  </g>\n", to);
    fprintf(to, "  <text id=\"flame-details\" x=\"%d\" y=\"%u\" role=\"status\"></text>\n", SIDE,
            flame->hanging ? DETAILS : below); /* next to the outermost boxes */
    write_legend(flame, below + LINE + 4, to);
    write_notes(flame, notes_at, to);
    fprintf(to, "  <script><![CDATA[\n%s]]></script>\n</svg>\n", flame_script);
}
