/* data/builtin_words.c: the vocabulary of the built-in corpus. */
#include <string.h>

#include "data/builtin.h"

/* `evenness`: how alike the frequencies are. */
static const struct {
    const char *words;
    double evenness;
} classes[ASC_W_CLASSES] = {
    [ASC_W_THE] = {"the", 1},
    [ASC_W_A] = {"a", 1},
    [ASC_W_SOME] = {"some many two three several few", 2},
    [ASC_W_POSSESSIVE] = {"her his its their", 1},
    [ASC_W_REFLEXIVE] = {"herself himself itself themselves", 1},
    [ASC_W_THAT] = {"that", 1},
    [ASC_W_AND] = {"and", 1},
    [ASC_W_COMMA] = {",", 1},
    [ASC_W_PERIOD] = {".", 1},
    [ASC_W_OPEN] = {"( [ {", 4},
    [ASC_W_CLOSE] = {") ] }", 1},
    [ASC_W_ONCE] = {"once", 1},
    [ASC_W_THERE] = {"there", 1},
    [ASC_W_LIVED] = {"lived", 1},
    [ASC_W_WAS] = {"was", 1},
    [ASC_W_CALLED] = {"called", 1},
    [ASC_W_IN] = {"in", 1},
    [ASC_W_TO] = {"to", 1},
    [ASC_W_NAME] = {"mira oren lena paul tessa emil nora hugo ida karl vera otto ruth felix selma arno hanna bruno "
                    "olga leo greta max clara theo dora jonas freya rolf wilma sven edda kurt", 16},
    [ASC_W_ROLE] = {"baker thief miller smith tailor hunter painter singer sailor doctor farmer soldier teacher judge "
                    "pilot weaver mason cook guard poet", 10},
    [ASC_W_OBJECT] = {"key lamp ring crown sword map coin letter book bell drum mirror rope cup flute knife mask purse "
                      "clock hat", 10},
    [ASC_W_PLACE] = {"cellar attic garden tower forest harbor market mill church chapel cave barn castle kitchen "
                     "library well orchard stable tavern meadow", 10},
    [ASC_W_NOUN] = {"dog tree cat stone horse cart cow boat goat door fox wall wolf fence bear roof crow wheel raven "
                    "barrel hen basket duck table frog chair bee ladder snake lantern mouse candle sheepdog blanket "
                    "donkey hammer rabbit spade spider wagon", 6},
    [ASC_W_NOUNS] = {"dogs trees cats stones horses carts cows boats goats doors foxes walls wolves fences bears roofs "
                     "crows wheels ravens barrels hens baskets ducks tables frogs chairs bees ladders snakes lanterns "
                     "mice candles sheepdogs blankets donkeys hammers rabbits spades spiders wagons", 6},
    [ASC_W_ADJECTIVE] = {"fine young small big tall grey black white brown quiet loud quick slow proud sad happy tired "
                         "hungry clever wild gentle strange lonely brave pale round heavy rusty wet cold", 6},
    [ASC_W_MEETS] = {"sees hears follows chases fears loves hates watches greets helps pushes pulls carries admires "
                     "washes feeds counts draws hits misses meets visits wants needs likes blames trusts warns", 6},
    [ASC_W_MEET] = {"see hear follow chase fear love hate watch greet help push pull carry admire wash feed count draw "
                    "hit miss meet visit want need like blame trust warn", 6},
    [ASC_W_SLEEPS] = {"sleeps runs sings dances waits laughs smiles cries falls rests jumps swims coughs sneezes "
                      "trembles works", 3},
    [ASC_W_SLEEP] = {"sleep run sing dance wait laugh smile cry fall rest jump swim cough sneeze tremble work", 3},
    [ASC_W_SAYS] = {"says shouts whispers thinks dreams writes", 2},
    [ASC_W_SAY] = {"say shout whisper think dream write", 2},
    [ASC_W_SEEKS] = {"seeks takes hides keeps steals", 3},
    [ASC_W_SEEK] = {"seek take hide keep steal", 3},
    [ASC_W_RETURNS] = {"returns walks rides hurries", 3},
    [ASC_W_ADVERB] = {"slowly quickly often again alone today together softly gladly badly early late outside", 3},
    [ASC_W_PREPOSITION] = {"near behind under beside with above below", 3},
    [ASC_W_OPENER] = {"then later soon now meanwhile afterwards sometimes suddenly finally yesterday tonight "
                      "besides", 3},
};

static uint32_t hash_text(const char *text, size_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) {
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    }
    return h ^ h >> 15;
}

static void add_word(asc_lexicon *lexicon, asc_word_class class, const char *text, int length)
{
    int id = lexicon->words++;
    lexicon->word[id].text = text;
    lexicon->word[id].length = length;
    lexicon->word[id].class = class;
    uint32_t at = hash_text(text, (size_t)length);
    while (lexicon->slot[at % ASC_LEXICON_SLOTS] >= 0) {
        at++;
    }
    lexicon->slot[at % ASC_LEXICON_SLOTS] = (int16_t)id;
}

static void set_shares(asc_lexicon *lexicon, asc_word_class class)
{
    int first = lexicon->first[class], n = lexicon->words - first;
    double sum = 0, upto = 0;
    for (int i = 0; i < n; i++) {
        sum += 1 / (i + classes[class].evenness);
    }
    for (int i = 0; i < n; i++) {
        lexicon->share[first + i] = 1 / (i + classes[class].evenness) / sum;
        upto += lexicon->share[first + i];
        lexicon->upto[first + i] = i == n - 1 ? 1 : upto; /* whatever rounding left */
    }
    for (int g = 0, i = 0; g < ASC_LEXICON_GUIDES; g++) {
        while (lexicon->upto[first + i] <= (double)g / ASC_LEXICON_GUIDES) {
            i++;
        }
        lexicon->guide[class][g] = (uint8_t)i;
    }
}

void asc_lexicon_init(asc_lexicon *lexicon)
{
    lexicon->words = 0;
    memset(lexicon->slot, -1, sizeof lexicon->slot);
    for (int c = 0; c < ASC_W_CLASSES; c++) {
        lexicon->first[c] = lexicon->words;
        for (const char *text = classes[c].words; *text;) {
            int length = (int)strcspn(text, " ");
            add_word(lexicon, (asc_word_class)c, text, length);
            text += length + (text[length] == ' ');
        }
        set_shares(lexicon, (asc_word_class)c);
    }
    lexicon->first[ASC_W_CLASSES] = lexicon->words;
}

int asc_lexicon_find(const asc_lexicon *lexicon, const char *text, size_t length)
{
    for (uint32_t at = hash_text(text, length);; at++) {
        int id = lexicon->slot[at % ASC_LEXICON_SLOTS];
        if (id < 0) {
            return -1;
        }
        if ((size_t)lexicon->word[id].length == length && memcmp(lexicon->word[id].text, text, length) == 0) {
            return id;
        }
    }
}

int asc_lexicon_draw(const asc_lexicon *lexicon, asc_word_class class, double u)
{
    int id = lexicon->first[class] + lexicon->guide[class][(int)(u * ASC_LEXICON_GUIDES)];
    while (lexicon->upto[id] <= u) {
        id++;
    }
    return id;
}
