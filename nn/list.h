/* nn/list.h: every mixing of the library, one line each; the first is the one that a model has where none is named. */
MIXING(transformer)
MIXING(grassmann)
MIXING(ascender)
MIXING(linear)
MIXING(conv)
MIXING(recurrent)
