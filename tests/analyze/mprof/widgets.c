/* The producer/consumer simulation of mprof's paper (Figure 1), with its bug: red widgets are not freed. The paper's
 * random_flip is not shown there; this one gives the same numbers of both, 4981 blue and 5019 red of 10000, spread evenly. It
 * must not print: stdio would allocate. */
#include <stdlib.h>

enum color { BLUE, RED };

typedef struct {
    enum color c;
    int data[50];
} widget;

#define WSIZE sizeof(widget)
#define NUM_WIDGETS 10000
#define NUM_BLUE 4981

widget *make_widget(void)
{
    widget *w;
    w = (widget *)malloc(WSIZE);
    return w;
}

widget *make_blue_widget(void)
{
    widget *w;
    w = make_widget();
    w->c = BLUE;
    return w;
}

widget *make_red_widget(void)
{
    widget *w;
    w = make_widget();
    w->c = RED;
    return w;
}

void consume_widget(widget *w)
{
    if (w->c == BLUE) {
        free(w);
    }
}

int random_flip(void)
{
    static int sum;
    sum += NUM_BLUE;
    if (sum < NUM_WIDGETS) {
        return 0;
    }
    sum -= NUM_WIDGETS;
    return 1;
}

int main(void)
{
    int i;
    static widget *wqueue[NUM_WIDGETS];
    for (i = 0; i < NUM_WIDGETS; i++) {
        if (random_flip()) {
            wqueue[i] = make_blue_widget();
        } else {
            wqueue[i] = make_red_widget();
        }
    }
    for (i = 0; i < NUM_WIDGETS; i++) {
        consume_widget(wqueue[i]);
    }
    return 0;
}
