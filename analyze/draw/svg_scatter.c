/* Owns scatter plots as SVG. Dots that fall together are drawn once, so that the file does not grow with their number; those
 * that are to be seen keep a mark and a label of their own. */
#include "analyze/draw/svg_plot.h"
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_MOST = 36, LABEL_LINE = 14, LABELS_MOST = 64 };

/* Where a dot is, in whole units of the picture. */
typedef struct spot {
    int x;
    int y;
    size_t dot;
} spot_t;

typedef struct box {
    double left;
    double top;
    double right;
    double bottom;
} box_t;

static int compare_spots(const void *a, const void *b)
{
    const spot_t *left = a;
    const spot_t *right = b;
    if (left->x != right->x) {
        return left->x < right->x ? -1 : 1;
    }
    if (left->y != right->y) {
        return left->y < right->y ? -1 : 1;
    }
    return left->dot < right->dot ? -1 : left->dot > right->dot;
}

static void put_circle(const pfa_plot_t *plot, const char *class, double x, double y, double radius,
                       const pfa_dot_t *dot, size_t more)
{
    fprintf(plot->to, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", class, x, y, radius);
    if (dot->title != NULL) {
        fputs("<title>", plot->to);
        pfa_svg_put(plot->to, dot->title);
        if (more != 0) {
            fprintf(plot->to, "\nand %zu more here", more);
        }
        fputs("</title>", plot->to);
    }
    fputs("</circle>\n", plot->to);
}

static void put_plain_dots(const pfa_plot_t *plot, const pfa_scatter_t *chart)
{
    spot_t *spots = pfa_memory_get(chart->count, sizeof *spots);
    size_t count = 0;
    for (size_t i = 0; i < chart->count; i++) {
        if (chart->dots[i].label == NULL) {
            spots[count++] = (spot_t){.x = (int)lround(pfa_plot_x(plot, chart->dots[i].x)),
                                      .y = (int)lround(pfa_plot_y(plot, chart->dots[i].y)),
                                      .dot = i};
        }
    }
    qsort(spots, count, sizeof *spots, compare_spots);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && spots[next].x == spots[i].x && spots[next].y == spots[i].y; next++) {
        }
        double radius = fmin(3 + log2((double)(next - i)) / 2, 8);
        put_circle(plot, "dot c0", spots[i].x, spots[i].y, radius, &chart->dots[spots[i].dot], next - i - 1);
    }
    pfa_memory_free(spots);
}

static bool is_free(const box_t *box, const box_t *taken, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (box->left < taken[i].right && taken[i].left < box->right && box->top < taken[i].bottom &&
            taken[i].top < box->bottom) {
            return false;
        }
    }
    return true;
}

/* Beside the dot, on the side with more room, or so many lines above or below as it takes not to cover another. */
static box_t find_room(const pfa_plot_t *plot, double x, double y, double width, const box_t *taken, size_t count)
{
    bool right = x + 10 + width <= plot->left + plot->width;
    box_t box = {.left = right ? x + 9 : x - 9 - width};
    for (int line = 0; line < 41; line++) {
        int shift = line % 2 == 0 ? line / 2 : -(line + 1) / 2;
        double middle = y + shift * LABEL_LINE;
        box.top = middle - LABEL_LINE / 2.0;
        box.bottom = box.top + LABEL_LINE;
        box.right = box.left + width;
        bool inside = box.top >= plot->top - 4 && box.bottom <= plot->top + plot->height;
        if (inside && is_free(&box, taken, count)) {
            return box;
        }
    }
    return box;
}

static void put_label(const pfa_plot_t *plot, const pfa_dot_t *dot, box_t *taken, size_t *count)
{
    double x = pfa_plot_x(plot, dot->x);
    double y = pfa_plot_y(plot, dot->y);
    size_t length = pfa_glyphs_count(dot->label);
    double width = 6.6 * (double)(length < LABEL_MOST ? length : LABEL_MOST) + 4;
    box_t box = find_room(plot, x, y, width, taken, *count);
    double middle = (box.top + box.bottom) / 2;
    taken[(*count)++] = box;
    if (fabs(middle - y) > LABEL_LINE / 2.0) {
        fprintf(plot->to, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, y,
                box.left > x ? box.left : box.right, middle);
    }
    fprintf(plot->to, "<text class=\"small halo\" x=\"%.1f\" y=\"%.1f\"%s>", box.left > x ? box.left : box.right,
            middle + 4, box.left > x ? "" : " text-anchor=\"end\"");
    pfa_svg_put_cut(plot->to, dot->label, LABEL_MOST);
    fputs("</text>\n", plot->to);
}

static void put_marked_dots(const pfa_plot_t *plot, const pfa_scatter_t *chart)
{
    box_t taken[LABELS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < chart->count; i++) {
        if (chart->dots[i].label != NULL && count < LABELS_MOST) {
            put_label(plot, &chart->dots[i], taken, &count);
        }
    }
    for (size_t i = 0; i < chart->count; i++) {
        const pfa_dot_t *dot = &chart->dots[i];
        if (dot->label != NULL) {
            put_circle(plot, "edge marked", pfa_plot_x(plot, dot->x), pfa_plot_y(plot, dot->y), 5, dot, 0);
        }
    }
}

void pfa_svg_scatter(FILE *to, const pfa_scatter_t *chart)
{
    pfa_range_t x = {.any = false};
    pfa_range_t y = {.any = false};
    pfa_plot_t plot = pfa_plot_begin(to, chart->title, chart->note, 30, 56);
    for (size_t i = 0; i < chart->count; i++) {
        pfa_range_take(&x, &chart->x, chart->dots[i].x);
        pfa_range_take(&y, &chart->y, chart->dots[i].y);
    }
    plot.x = pfa_scale_make(&chart->x, &x, 12, true, false);
    plot.y = pfa_scale_make(&chart->y, &y, 8, true, false);
    pfa_plot_y_axis(&plot, &chart->y);
    pfa_plot_x_axis(&plot, &chart->x);
    put_plain_dots(&plot, chart);
    put_marked_dots(&plot, chart);
    pfa_plot_end(&plot);
}
