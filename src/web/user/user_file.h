// The file of a user, and tokens. Pure.
//
//     name = ann
//     key = /etc/zplan/web/ops.key_secret
//     rate = 20                            # requests of a token in a second
//     token = 5e88...  2027-01-01T00:00:00Z     # SHA-256 of the token, and its expiry
#pragma once

#include "reason.h"

enum {
    USER_NAME_SIZE = 65,
    USER_PATH_SIZE = 512,
    USER_TOKENS_MAX = 8,
    USER_RATE_MAX = 100000,
    TOKEN_SUM_SIZE = 32,
    TOKEN_SIZE = 48 // zpw_ and 43 characters, and the NUL
};

struct user_token {
    uint8_t sum[TOKEN_SUM_SIZE];
    int64_t until; // Unix seconds; 0 = for ever
};

struct user_file {
    char name[USER_NAME_SIZE], key[USER_PATH_SIZE]; // key: "" = none
    struct user_token tokens[USER_TOKENS_MAX];
    size_t token_count;
    int rate; // requests of one token per second; 0 = no limit
};

// Whether a name is valid: 1 to 64 of A-Z a-z 0-9 _ . @ - and no dot at the start.
bool user_name_valid (const char *name);

// Parse the file of a user. 0, or -1 with a reason that names the line.
int user_file_read (struct span text, struct user_file *ret, struct reason *reason);

void token_sum (const char *token, uint8_t out[TOKEN_SUM_SIZE]);

// The index of the token with this hash; -1: none.
int user_token_at (const struct user_file *self, const uint8_t sum[TOKEN_SUM_SIZE]);

// Whether a token with this hash is valid at `now`, Unix seconds. False: unknown or expired.
bool user_has_token (const struct user_file *self, const uint8_t sum[TOKEN_SUM_SIZE], int64_t now);

// Make a new token: the prefix, such as "zpw_", and 256 random bits.
void token_make (const char *prefix, char out[TOKEN_SIZE]);
