/*
 * data/builtin_grammar.c: the grammar of the built-in corpus.
 *
 * Each function walks one constituent: it lists what may come next, takes the word, and goes on by the word's class.
 * Nothing else decides, so that the words alone lead a reader the same way as the writer. A function whose walk has
 * stopped sees the class ASC_W_NONE, which no case names, and returns.
 */
#include <string.h>

#include "data/builtin.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { FEMALE, MALE, NEUTER, PLURAL, NONE }; /* what verbs, possessives and reflexives agree with */
enum { MOST_RELATIVES = 3, MOST_SPEECHES = 3, MOST_PREPOSITIONS = 2, SHORTEST_STORY = 8 };

/* A noun phrase that was just walked. */
typedef struct phrase {
    int feature;
    int role, name; /* the member of the cast that it names by role or by name; -1 */
} phrase;

/* How deep a clause stands. */
typedef struct depth {
    int relatives, speeches;
} depth;

/* The word that the story has bound, mentioned last at `seen`. */
static void bound(asc_text_walk *w, asc_word_class class, int word, int64_t seen)
{
    asc_recall only = {1, {word}, {seen}};
    asc_text_walk_one(w, class, ASC_AMONG, &only);
}

/* ---- noun phrases ---- */

/* The noun behind a determiner, perhaps after an adjective. */
static phrase noun(asc_text_walk *w, bool singular, bool plural, bool adjective)
{
    asc_option options[] = {
        {ASC_W_NOUN, singular ? 5 : 0, ASC_FREELY, NULL},
        {ASC_W_NOUNS, plural ? 4 : 0, ASC_FREELY, NULL},
        {ASC_W_ADJECTIVE, adjective ? 5 : 0, ASC_FREELY, NULL},
    };
    asc_word_class class = asc_text_walk_class(w, asc_text_walk_word(w, options, COUNT(options)));
    if (class == ASC_W_ADJECTIVE) {
        return noun(w, singular, plural, false);
    }
    return (phrase){class == ASC_W_NOUNS ? PLURAL : NEUTER, -1, -1};
}

/* Women's and men's names stand by turns in the vocabulary. */
static int gender(const asc_text_walk *w, int i)
{
    return (w->story.cast[i].name - w->lexicon.first[ASC_W_NAME]) % 2 ? MALE : FEMALE;
}

/* Behind "the": a member of the cast by role, or any noun. */
static phrase definite(asc_text_walk *w)
{
    asc_recall cast = asc_story_roles(&w->story);
    asc_option options[] = {
        {ASC_W_ROLE, 9, ASC_AMONG, &cast},
        {ASC_W_NOUN, 4, ASC_FREELY, NULL},
        {ASC_W_NOUNS, 4, ASC_FREELY, NULL},
        {ASC_W_ADJECTIVE, 4, ASC_FREELY, NULL},
    };
    int word = asc_text_walk_word(w, options, COUNT(options));
    switch (asc_text_walk_class(w, word)) {
    case ASC_W_ROLE: {
        int i = asc_recall_find(&cast, word);
        w->story.cast[i].role_seen = w->words;
        return (phrase){gender(w, i), i, -1};
    }
    case ASC_W_ADJECTIVE: return noun(w, true, true, false);
    case ASC_W_NOUNS: return (phrase){PLURAL, -1, -1};
    default: return (phrase){NEUTER, -1, -1};
    }
}

/* A noun phrase from its first word on. */
static phrase noun_phrase(asc_text_walk *w, int word)
{
    switch (asc_text_walk_class(w, word)) {
    case ASC_W_THE: return definite(w);
    case ASC_W_A: return noun(w, true, false, true);
    case ASC_W_SOME: return noun(w, false, true, true);
    case ASC_W_POSSESSIVE: return noun(w, true, true, true);
    case ASC_W_NAME: {
        asc_recall cast = asc_story_names(&w->story);
        int i = asc_recall_find(&cast, word);
        w->story.cast[i].name_seen = w->words;
        return (phrase){gender(w, i), -1, i};
    }
    default: return (phrase){NEUTER, -1, -1};
    }
}

/* Behind a role its holder's name, "the baker called mira"; behind a name the role, "mira the baker". */
static void bond(asc_text_walk *w, phrase *p)
{
    asc_member *m = &w->story.cast[p->role >= 0 ? p->role : p->name];
    if (p->role >= 0) {
        bound(w, ASC_W_NAME, m->name, m->bond_seen);
    } else {
        bound(w, ASC_W_ROLE, m->role, m->bond_seen);
    }
    m->role_seen = m->name_seen = m->bond_seen = w->words;
    p->role = p->name = -1;
}

/* ---- clauses ---- */

static void clause(asc_text_walk *w, int first, depth d, const asc_option *close);
static void relative(asc_text_walk *w, phrase p, depth d);

/* A noun phrase behind a preposition. */
static phrase short_phrase(asc_text_walk *w)
{
    asc_option options[] = {
        {ASC_W_THE, 5, ASC_FREELY, NULL},
        {ASC_W_A, 3, ASC_FREELY, NULL},
        {ASC_W_SOME, 2, ASC_FREELY, NULL},
    };
    return noun_phrase(w, asc_text_walk_word(w, options, COUNT(options)));
}

enum { VERBS = 5 };

/* The verbs that agree with a subject. Within a relative clause whose object is the noun outside (`gap`) only those
 * that take an object. */
static void list_verbs(asc_option *options, int feature, depth d, bool gap)
{
    bool many = feature == PLURAL, person = feature == FEMALE || feature == MALE;
    const asc_option verbs[VERBS] = {
        {many ? ASC_W_MEET : ASC_W_MEETS, 34, ASC_FREELY, NULL},
        {many ? ASC_W_SLEEP : ASC_W_SLEEPS, gap ? 0 : 10, ASC_FREELY, NULL},
        {many ? ASC_W_SAY : ASC_W_SAYS, gap || d.speeches >= MOST_SPEECHES ? 0 : 16, ASC_FREELY, NULL},
        {many ? ASC_W_SEEK : ASC_W_SEEKS, gap ? 0 : 14, ASC_FREELY, NULL},
        {ASC_W_RETURNS, gap || !person ? 0 : 8, ASC_FREELY, NULL},
    };
    memcpy(options, verbs, sizeof verbs);
}

/* Walks what may stand behind a noun phrase other than the verb: its bond, a relative clause, a preposition with
 * another phrase, which then is the last one. */
static void modifier(asc_text_walk *w, int word, phrase *last, depth d)
{
    switch (asc_text_walk_class(w, word)) {
    case ASC_W_CALLED:
    case ASC_W_THE: bond(w, last); break;
    case ASC_W_THAT:
        relative(w, *last, (depth){d.relatives + 1, d.speeches});
        last->role = last->name = -1;
        break;
    case ASC_W_PREPOSITION: *last = short_phrase(w); break;
    default: break;
    }
}

/* From behind the subject to the verb, which agrees with the subject whatever stands between. Returns the verb. */
static int verb_of(asc_text_walk *w, phrase subject, depth d, bool gap)
{
    phrase last = subject;
    for (int prepositions = 0, relatives = 0;;) {
        asc_option options[VERBS + 4] = {
            [VERBS] = {ASC_W_CALLED, last.role >= 0 ? 24 : 0, ASC_FREELY, NULL},
            {ASC_W_THE, last.name >= 0 ? 16 : 0, ASC_FREELY, NULL},
            {ASC_W_THAT, d.relatives < MOST_RELATIVES && relatives < 1 ? 16 : 0, ASC_FREELY, NULL},
            {ASC_W_PREPOSITION, prepositions < MOST_PREPOSITIONS ? 12 : 0, ASC_FREELY, NULL},
        };
        list_verbs(options, subject.feature, d, gap);
        int word = asc_text_walk_word(w, options, COUNT(options));
        switch (asc_text_walk_class(w, word)) {
        case ASC_W_THAT: relatives++; break;
        case ASC_W_PREPOSITION: prepositions++; break;
        case ASC_W_CALLED:
        case ASC_W_THE: break;
        default: return word;
        }
        modifier(w, word, &last, d);
    }
}

/* Behind "that": "that sees the dog", "that sleeps", or, with the noun outside as its object, "that the dog sees". */
static void relative(asc_text_walk *w, phrase p, depth d)
{
    bool many = p.feature == PLURAL;
    asc_recall cast = asc_story_names(&w->story);
    asc_option options[] = {
        {many ? ASC_W_MEET : ASC_W_MEETS, 6, ASC_FREELY, NULL},
        {many ? ASC_W_SLEEP : ASC_W_SLEEPS, 4, ASC_FREELY, NULL},
        {ASC_W_THE, 6, ASC_FREELY, NULL},
        {ASC_W_A, 2, ASC_FREELY, NULL},
        {ASC_W_SOME, 2, ASC_FREELY, NULL},
        {ASC_W_NAME, 4, ASC_AMONG, &cast},
    };
    int word = asc_text_walk_word(w, options, COUNT(options));
    switch (asc_text_walk_class(w, word)) {
    case ASC_W_MEETS:
    case ASC_W_MEET: short_phrase(w); break;
    case ASC_W_THE:
    case ASC_W_A:
    case ASC_W_SOME:
    case ASC_W_NAME: verb_of(w, noun_phrase(w, word), d, true); break;
    default: break;
    }
}

/* The object of a verb, by which subject it has. */
static phrase object(asc_text_walk *w, int feature)
{
    asc_recall cast = asc_story_names(&w->story);
    asc_recall own = {1, {w->lexicon.first[ASC_W_POSSESSIVE] + feature}, {w->words}};
    asc_recall self = {1, {w->lexicon.first[ASC_W_REFLEXIVE] + feature}, {w->words}};
    asc_option options[] = {
        {ASC_W_THE, 8, ASC_FREELY, NULL},
        {ASC_W_A, 5, ASC_FREELY, NULL},
        {ASC_W_SOME, 4, ASC_FREELY, NULL},
        {ASC_W_POSSESSIVE, 5, ASC_AMONG, &own},
        {ASC_W_REFLEXIVE, 1, ASC_AMONG, &self},
        {ASC_W_NAME, 7, ASC_AMONG, &cast},
    };
    int word = asc_text_walk_word(w, options, COUNT(options));
    return asc_text_walk_class(w, word) == ASC_W_REFLEXIVE ? (phrase){NONE, -1, -1} : noun_phrase(w, word);
}

/* "says ( … )" */
static void speech(asc_text_walk *w, depth d)
{
    int open = asc_text_walk_any(w, ASC_W_OPEN);
    asc_recall cast = asc_story_names(&w->story);
    asc_option options[] = {
        {ASC_W_THE, 8, ASC_FREELY, NULL},
        {ASC_W_A, 3, ASC_FREELY, NULL},
        {ASC_W_SOME, 3, ASC_FREELY, NULL},
        {ASC_W_NAME, 6, ASC_AMONG, &cast},
    };
    int first = asc_text_walk_word(w, options, COUNT(options));
    asc_recall bracket = {1, {open - w->lexicon.first[ASC_W_OPEN] + w->lexicon.first[ASC_W_CLOSE]}, {w->words}};
    clause(w, first, (depth){d.relatives, d.speeches + 1}, &(asc_option){ASC_W_CLOSE, 40, ASC_AMONG, &bracket});
}

/* "seeks the key in the mill" */
static void search(asc_text_walk *w)
{
    asc_recall all = asc_story_objects(&w->story);
    asc_text_walk_any(w, ASC_W_THE);
    int i = asc_recall_find(&all, asc_text_walk_one(w, ASC_W_OBJECT, ASC_AMONG, &all));
    asc_text_walk_any(w, ASC_W_IN);
    asc_text_walk_any(w, ASC_W_THE);
    if (i >= 0) {
        asc_thing *thing = &w->story.things[i];
        bound(w, ASC_W_PLACE, thing->place, thing->bond_seen);
        thing->object_seen = thing->bond_seen = w->words;
    }
}

/* "returns to the tower" */
static void go_home(asc_text_walk *w)
{
    asc_text_walk_any(w, ASC_W_TO);
    asc_text_walk_any(w, ASC_W_THE);
    bound(w, ASC_W_PLACE, w->story.home, w->story.home_seen);
    w->story.home_seen = w->words;
}

/* What a verb asks for behind it. Returns the noun phrase that may be said more about. */
static phrase complement(asc_text_walk *w, int verb, int feature, depth d)
{
    switch (asc_text_walk_class(w, verb)) {
    case ASC_W_MEETS:
    case ASC_W_MEET: return object(w, feature);
    case ASC_W_SAYS:
    case ASC_W_SAY: speech(w, d); break;
    case ASC_W_SEEKS:
    case ASC_W_SEEK: search(w); break;
    case ASC_W_RETURNS: go_home(w); break;
    default: break;
    }
    return (phrase){NONE, -1, -1};
}

/* From behind the complement to the close of the clause, or to "and": true. */
static bool tail(asc_text_walk *w, phrase last, depth d, bool may_join, const asc_option *close)
{
    for (int prepositions = 0, relatives = 0, adverbs = 0;;) {
        bool noun_last = last.feature != NONE && relatives < 1 && adverbs < 1;
        asc_option options[] = {
            {ASC_W_CALLED, last.role >= 0 ? 24 : 0, ASC_FREELY, NULL},
            {ASC_W_THE, last.name >= 0 ? 16 : 0, ASC_FREELY, NULL},
            {ASC_W_THAT, noun_last && d.relatives < MOST_RELATIVES ? 12 : 0, ASC_FREELY, NULL},
            {ASC_W_PREPOSITION, prepositions < 1 && adverbs < 1 ? 10 : 0, ASC_FREELY, NULL},
            {ASC_W_ADVERB, adverbs < 1 ? 12 : 0, ASC_FREELY, NULL},
            {ASC_W_AND, may_join ? 10 : 0, ASC_FREELY, NULL},
            *close,
        };
        int word = asc_text_walk_word(w, options, COUNT(options));
        switch (asc_text_walk_class(w, word)) {
        case ASC_W_THAT: relatives++; break;
        case ASC_W_PREPOSITION: prepositions++; break;
        case ASC_W_ADVERB:
            last.role = last.name = -1;
            adverbs++;
            break;
        case ASC_W_AND: return true;
        case ASC_W_CALLED:
        case ASC_W_THE: break;
        default: return false;
        }
        modifier(w, word, &last, d);
    }
}

/* A subject, one or two predicates that agree with it, and the word that closes the clause. */
static void clause(asc_text_walk *w, int first, depth d, const asc_option *close)
{
    phrase subject = noun_phrase(w, first);
    int verb = verb_of(w, subject, d, false);
    phrase last = complement(w, verb, subject.feature, d);
    if (tail(w, last, d, true, close)) {
        asc_option verbs[VERBS];
        list_verbs(verbs, subject.feature, d, false);
        last = complement(w, asc_text_walk_word(w, verbs, VERBS), subject.feature, d);
        tail(w, last, d, false, close);
    }
}

/* ---- lines ---- */

/* A sentence, or the opening of the next story. */
static void sentence(asc_text_walk *w)
{
    static const asc_option period = {ASC_W_PERIOD, 40, ASC_FREELY, NULL};
    asc_recall cast = asc_story_names(&w->story);
    asc_option options[] = {
        {ASC_W_ONCE, w->story.lines >= SHORTEST_STORY ? 10 : 0, ASC_FREELY, NULL},
        {ASC_W_OPENER, 35, ASC_FREELY, NULL},
        {ASC_W_THE, 36, ASC_FREELY, NULL},
        {ASC_W_A, 10, ASC_FREELY, NULL},
        {ASC_W_SOME, 14, ASC_FREELY, NULL},
        {ASC_W_NAME, 30, ASC_AMONG, &cast},
    };
    int word = asc_text_walk_word(w, options, COUNT(options));
    if (asc_text_walk_class(w, word) == ASC_W_OPENER) {
        word = asc_text_walk_word(w, options + 2, COUNT(options) - 2);
    }
    switch (asc_text_walk_class(w, word)) {
    case ASC_W_NONE: break;
    case ASC_W_ONCE: asc_story_introduce_cast(w); break;
    default: clause(w, word, (depth){0, 0}, &period); break;
    }
}

void asc_builtin_line(asc_text_walk *walk)
{
    switch (walk->story.lines) {
    case 0:
        asc_text_walk_any(walk, ASC_W_ONCE);
        asc_story_introduce_cast(walk);
        break;
    case 1: asc_story_introduce_things(walk); break;
    default: sentence(walk); break;
    }
    asc_text_walk_line_end(walk);
    walk->story.lines++;
}
