/* data/builtin.h: what the parts of the built-in corpus share: its words, and the choice of the next one. */
#ifndef DATA_BUILTIN_H
#define DATA_BUILTIN_H

#include <ascgrad/builtin.h>

/* Classes of words; a word belongs to one class. */
typedef enum asc_word_class {
    ASC_W_NONE = -1, /* the end of a text that is scored, or a word that can't stand there */
    ASC_W_THE,
    ASC_W_A,
    ASC_W_SOME,       /* determiners of plurals */
    ASC_W_POSSESSIVE, /* by the subject, as the next */
    ASC_W_REFLEXIVE,
    ASC_W_THAT,
    ASC_W_AND,
    ASC_W_COMMA,
    ASC_W_PERIOD,
    ASC_W_OPEN,
    ASC_W_CLOSE, /* in the order of ASC_W_OPEN */
    ASC_W_ONCE,
    ASC_W_THERE,
    ASC_W_LIVED,
    ASC_W_WAS,
    ASC_W_CALLED,
    ASC_W_IN,
    ASC_W_TO,
    ASC_W_NAME, /* women's and men's by turns */
    ASC_W_ROLE,
    ASC_W_OBJECT,
    ASC_W_PLACE,
    ASC_W_NOUN, /* singular; each plural stands right behind its singular, in nouns and verbs */
    ASC_W_NOUNS,
    ASC_W_ADJECTIVE,
    ASC_W_MEETS, /* verbs with an object */
    ASC_W_MEET,
    ASC_W_SLEEPS, /* verbs without */
    ASC_W_SLEEP,
    ASC_W_SAYS, /* verbs of speech: a clause in brackets follows */
    ASC_W_SAY,
    ASC_W_SEEKS, /* verbs of what lies somewhere */
    ASC_W_SEEK,
    ASC_W_RETURNS, /* verbs of going home, for persons only */
    ASC_W_ADVERB,
    ASC_W_PREPOSITION,
    ASC_W_OPENER,
    ASC_W_CLASSES
} asc_word_class;

enum { ASC_LEXICON_WORDS = 400, ASC_LEXICON_SLOTS = 1024, ASC_LEXICON_GUIDES = 32 };

/* The words, with their frequencies within their class: 1/(rank + evenness), normalised. */
typedef struct asc_lexicon {
    int words;
    int first[ASC_W_CLASSES + 1]; /* the class's first word; those of class c are first[c] … first[c+1]-1 */
    struct {
        const char *text; /* not terminated */
        int length;
        asc_word_class class;
    } word[ASC_LEXICON_WORDS];
    double share[ASC_LEXICON_WORDS]; /* of the class */
    double upto[ASC_LEXICON_WORDS];  /* the class's shares summed up to this word, which included */
    uint8_t guide[ASC_W_CLASSES][ASC_LEXICON_GUIDES]; /* the first candidate for a number in [g, g+1)/GUIDES */
    int16_t slot[ASC_LEXICON_SLOTS];                  /* hash table: a word, or -1 */
} asc_lexicon;

void asc_lexicon_init(asc_lexicon *lexicon);
/* The number of a word, -1 if it is none. */
int asc_lexicon_find(const asc_lexicon *lexicon, const char *text, size_t length);
/* The word of class `class` where the summed shares pass u, 0 <= u < 1. */
int asc_lexicon_draw(const asc_lexicon *lexicon, asc_word_class class, double u);

/* ---- the choice of the next word ---- */

enum { ASC_RECALL_MAX = 8 };

/* Words that the story has bound, and where each was last mentioned. */
typedef struct asc_recall {
    int n;
    int word[ASC_RECALL_MAX];
    int64_t seen[ASC_RECALL_MAX];
} asc_recall;

typedef enum asc_choice {
    ASC_FREELY, /* any word of the class, by its frequency there and by the last content word */
    ASC_AMONG,  /* one of the recalled words, each as likely */
    ASC_EXCEPT, /* any word of the class but those, by its frequency */
} asc_choice;

/* One way to go on. Options that stand beside each other have different classes, so that the word tells the way. */
typedef struct asc_option {
    asc_word_class class;
    int weight; /* relative to the others'; 0: not here */
    asc_choice choice;
    const asc_recall *recall;
} asc_option;

/* A member of a story's cast, and a thing in its place, with the positions of the last mentions. */
typedef struct asc_member {
    int role, name;
    int64_t role_seen, name_seen, bond_seen;
} asc_member;

typedef struct asc_thing {
    int object, place;
    int64_t object_seen, bond_seen;
} asc_thing;

enum { ASC_STORY_CAST = 4, ASC_STORY_THINGS = 4 };

/* What a story has bound so far. */
typedef struct asc_story {
    int lines, n_cast, n_things;
    asc_member cast[ASC_STORY_CAST];
    asc_thing things[ASC_STORY_THINGS];
    int home;
    int64_t home_seen;
} asc_story;

/* A walk through a text, which is written or read word by word. All but `random` and `text` is a function of the
 * words so far. */
typedef struct asc_text_walk asc_text_walk;
struct asc_text_walk {
    asc_ctx *ctx;
    bool writes;
    asc_status status; /* why it stopped; ASC_OK at the end of a text that is read */
    bool stopped;
    char *text;        /* written to or read from */
    size_t at, capacity;
    uint64_t random;   /* state of the generator */
    int64_t memory;    /* 0: forgets nothing */
    int64_t words, lines;
    double nats, likelihood; /* −log of the probability so far is nats − log(likelihood) */
    int context;             /* the last content word */
    void (*tell)(void *user, const asc_text_walk *walk, int word); /* each word, and -1 at the end of a line; or NULL */
    void *user;
    asc_story story;
    asc_lexicon lexicon;
};

/* Reads a text that is given, word by word. Errors as asc_builtin_score. */
asc_status asc_text_walk_read(asc_ctx *ctx, const char *text, size_t bytes,
                         void (*tell)(void *user, const asc_text_walk *walk, int word), void *user);

/* Writes or reads the next word, which is one of those that the options allow; -1 once the walk has stopped. */
int asc_text_walk_word(asc_text_walk *walk, const asc_option *options, int n);
/* The same where only one class can follow. */
int asc_text_walk_one(asc_text_walk *walk, asc_word_class class, asc_choice choice, const asc_recall *recall);
/* The same of any word of that class. */
static inline int asc_text_walk_any(asc_text_walk *walk, asc_word_class class)
{
    return asc_text_walk_one(walk, class, ASC_FREELY, NULL);
}
/* Writes or reads the end of a line. */
void asc_text_walk_line_end(asc_text_walk *walk);
/* The class of a word; ASC_W_NONE for -1. */
asc_word_class asc_text_walk_class(const asc_text_walk *walk, int word);

/* ---- the story ---- */

/* The cast's names and roles, and the things, in the order of their introduction. */
asc_recall asc_story_names(const asc_story *story);
asc_recall asc_story_roles(const asc_story *story);
asc_recall asc_story_objects(const asc_story *story);
/* Where a word stands among the recalled ones; -1. */
int asc_recall_find(const asc_recall *recall, int word);

/* Walks, and binds from here on, "in the tower there lived a baker called mira , a thief called oren and a smith called
 * lena ." */
void asc_story_introduce_cast(asc_text_walk *walk);
/* And "the key was in the mill , the lamp was in the attic and the drum was in the barn ." */
void asc_story_introduce_things(asc_text_walk *walk);

/* Walks one line, by the grammar. */
void asc_builtin_line(asc_text_walk *walk);

#endif
