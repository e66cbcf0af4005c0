/* autograd/waiting.c: the records that a backward pass is to come to, as a pairing heap (Fredman, Sedgewick, Sleator
 * and Tarjan, Algorithmica 1, 1986) by way of the records themselves: it takes no memory, and cannot fail. */
#include "autograd/engine.h"

/* Makes one heap of two. */
static asc_record *meld(asc_record *a, asc_record *b)
{
    if (!a || !b) {
        return a ? a : b;
    }
    asc_record *top = a->number > b->number ? a : b, *below = top == a ? b : a;
    below->next = top->child;
    top->child = below;
    return top;
}

/* Takes the first of a list out of it. */
static asc_record *first_of(asc_record **list)
{
    asc_record *r = *list;
    if (r) {
        *list = r->next;
        r->next = NULL;
    }
    return r;
}

void asc_waiting_add(asc_tape *tape, asc_record *r)
{
    if (!r->waiting) {
        r->waiting = true;
        asc_record_ref(r);
        tape->waiting = meld(tape->waiting, r);
    }
}

asc_record *asc_waiting_take(asc_tape *tape, uint64_t from)
{
    asc_record *top = tape->waiting, *pairs = NULL, *rest = NULL, *pair;
    if (!top || top->number < from) {
        return NULL;
    }
    while (top->child) {
        asc_record *a = first_of(&top->child);
        pair = meld(a, first_of(&top->child));
        pair->next = pairs;
        pairs = pair;
    }
    while ((pair = first_of(&pairs))) {
        rest = meld(rest, pair);
    }
    tape->waiting = rest;
    top->waiting = false;
    return top;
}
