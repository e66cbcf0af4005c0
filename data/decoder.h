/* data/decoder.h: printing bytes that need not be whole characters, for tokenizers whose pieces are bytes. */
#ifndef DATA_DECODER_H
#define DATA_DECODER_H

#include <ascgrad/corpus.h>

/* The start of a character, kept until it is complete: decoder->self. */
typedef struct asc_decoder_kept {
    char bytes[4];
    size_t n;
} asc_decoder_kept;

/* Prints the characters that are complete, U+FFFD for a byte with which none can start. ASC_ERR_MEMORY. */
asc_status asc_decoder_put_bytes(asc_decoder *decoder, const char *bytes, size_t n);
/* What is still kept, as U+FFFD. */
asc_status asc_decoder_end_bytes(asc_decoder *decoder);

#endif
