/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyze/view/flame.h"
#include "analyze/view/sink.h"
#include "analyze/view/view.h"
#include "common/report.h"

static int write_file(struct flame *flame, const char *path)
{
    struct sink sink;
    if (sink_holds_samples(path)) {
        report_error("'%s' holds samples and is not overwritten; behind -o stands the name of the file to write", path);
        return 1;
    }
    if (sink_open(&sink, path, 0, SINK_SHARED) < 0)
        return 1;
    flame_svg(flame, sink.to);
    return sink_close(&sink, true);
}

int view_flame(struct view *view)
{
    struct flame flame;
    const char *path = view->settings->file;
    int status = 0;
    if (path && strcmp(path, "-") == 0)
        path = NULL;
    if (!view->selection->total_samples) {
        report_error("no samples to draw; 'panalyze counts' shows what was counted, 'panalyze tree' what ran");
        return 1;
    }
    if (!path && view->output->terminal) {
        report_error("a picture is nothing for a terminal; name a file with -o FILE.svg, or redirect the output");
        return 1;
    }
    flame_init(&flame, view);
    if (!flame.calls.nodes[0].samples) {
        report_error("no sampled stack passes where --symbol and --object say; 'panalyze report' shows the names");
        status = 1;
    } else if (path) {
        status = write_file(&flame, path);
    } else {
        flame_svg(&flame, view->output->to);
    }
    flame_release(&flame);
    return status;
}
