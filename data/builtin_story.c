/* data/builtin_story.c: what a story of the built-in corpus binds in its opening, and remembers. */
#include "data/builtin.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- what the story remembers ---- */

asc_recall asc_story_names(const asc_story *s)
{
    asc_recall r = {.n = s->n_cast};
    for (int i = 0; i < s->n_cast; i++) {
        r.word[i] = s->cast[i].name;
        r.seen[i] = s->cast[i].name_seen;
    }
    return r;
}

asc_recall asc_story_roles(const asc_story *s)
{
    asc_recall r = {.n = s->n_cast};
    for (int i = 0; i < s->n_cast; i++) {
        r.word[i] = s->cast[i].role;
        r.seen[i] = s->cast[i].role_seen;
    }
    return r;
}

asc_recall asc_story_objects(const asc_story *s)
{
    asc_recall r = {.n = s->n_things};
    for (int i = 0; i < s->n_things; i++) {
        r.word[i] = s->things[i].object;
        r.seen[i] = s->things[i].object_seen;
    }
    return r;
}

/* The places, with the home last. */
static asc_recall story_places(const asc_story *s)
{
    asc_recall r = {.n = s->n_things + 1};
    for (int i = 0; i < s->n_things; i++) {
        r.word[i] = s->things[i].place;
    }
    r.word[s->n_things] = s->home;
    return r;
}

int asc_recall_find(const asc_recall *r, int word)
{
    for (int i = 0; i < r->n; i++) {
        if (r->word[i] == word) {
            return i;
        }
    }
    return -1;
}

/* ---- the opening of a story ---- */

/* What follows an item of a list: a comma, "and" before the last one, or the period after it. */
static asc_word_class list_goes_on(asc_text_walk *w, int items, int most, asc_word_class before)
{
    bool last = before == ASC_W_AND;
    asc_option options[] = {
        {ASC_W_COMMA, !last && items < most - 1 ? 6 : 0, ASC_FREELY, NULL},
        {ASC_W_AND, last ? 0 : 4, ASC_FREELY, NULL},
        {ASC_W_PERIOD, last ? 1 : 0, ASC_FREELY, NULL},
    };
    return asc_text_walk_class(w, asc_text_walk_word(w, options, COUNT(options)));
}

void asc_story_introduce_cast(asc_text_walk *w)
{
    asc_story *s = &w->story;
    *s = (asc_story){.lines = 0};
    asc_text_walk_any(w, ASC_W_IN);
    asc_text_walk_any(w, ASC_W_THE);
    s->home = asc_text_walk_one(w, ASC_W_PLACE, ASC_EXCEPT, &(asc_recall){.n = 0});
    s->home_seen = w->words;
    asc_text_walk_any(w, ASC_W_THERE);
    asc_text_walk_any(w, ASC_W_LIVED);
    for (asc_word_class next = ASC_W_COMMA; next == ASC_W_COMMA || next == ASC_W_AND;) {
        asc_text_walk_any(w, ASC_W_A);
        asc_recall taken = asc_story_roles(s);
        int role = asc_text_walk_one(w, ASC_W_ROLE, ASC_EXCEPT, &taken);
        asc_text_walk_any(w, ASC_W_CALLED);
        taken = asc_story_names(s);
        int name = asc_text_walk_one(w, ASC_W_NAME, ASC_EXCEPT, &taken);
        s->cast[s->n_cast++] = (asc_member){role, name, w->words, w->words, w->words};
        next = list_goes_on(w, s->n_cast, ASC_STORY_CAST, next);
    }
}

void asc_story_introduce_things(asc_text_walk *w)
{
    asc_story *s = &w->story;
    for (asc_word_class next = ASC_W_COMMA; next == ASC_W_COMMA || next == ASC_W_AND;) {
        asc_text_walk_any(w, ASC_W_THE);
        asc_recall taken = asc_story_objects(s);
        int object = asc_text_walk_one(w, ASC_W_OBJECT, ASC_EXCEPT, &taken);
        asc_text_walk_any(w, ASC_W_WAS);
        asc_text_walk_any(w, ASC_W_IN);
        asc_text_walk_any(w, ASC_W_THE);
        taken = story_places(s);
        int place = asc_text_walk_one(w, ASC_W_PLACE, ASC_EXCEPT, &taken);
        s->things[s->n_things++] = (asc_thing){object, place, w->words, w->words};
        next = list_goes_on(w, s->n_things, ASC_STORY_THINGS, next);
    }
}
