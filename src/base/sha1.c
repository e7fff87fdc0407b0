#include "sha1.h"

enum { BLOCK_SIZE = 64, ROUNDS = 80 };

struct sha1 {
    uint32_t state[SHA1_SIZE / 4];
    uint8_t block[BLOCK_SIZE];
    size_t used;   // bytes of the block in use
    uint64_t size; // total of bytes added so far
};

static uint32_t rotate_left (uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static uint32_t mix_round (int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

// Update the state with the full block.
static void digest_block (struct sha1 *self)
{
    uint32_t words[ROUNDS], *state = self->state;
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)self->block[4 * i] << 24 | (uint32_t)self->block[4 * i + 1] << 16 |
                   (uint32_t)self->block[4 * i + 2] << 8 | self->block[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++)
        words[i] = rotate_left (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate_left (a, 5) + mix_round (i, b, c, d) + e + words[i];
        e = d;
        d = c;
        c = rotate_left (b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    self->used = 0;
}

static void sha1_add (struct sha1 *self, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        self->block[self->used++] = bytes.data[i];
        if (self->used == BLOCK_SIZE)
            digest_block (self);
    }
    self->size += bytes.size;
}

void sha1_sum (const struct span *parts, size_t count, uint8_t out[SHA1_SIZE])
{
    struct sha1 self = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
    uint8_t bits[8];
    for (size_t i = 0; i < count; i++)
        sha1_add (&self, parts[i]);
    for (size_t i = 0; i < sizeof bits; i++)
        bits[i] = (uint8_t)(self.size * 8 >> (56 - 8 * i));
    sha1_add (&self, span_of ("\x80", 1));
    while (self.used != BLOCK_SIZE - sizeof bits)
        sha1_add (&self, span_of ("", 1));
    sha1_add (&self, span_of (bits, sizeof bits));
    for (size_t i = 0; i < SHA1_SIZE; i++)
        out[i] = (uint8_t)(self.state[i / 4] >> (24 - 8 * (i % 4)));
}
