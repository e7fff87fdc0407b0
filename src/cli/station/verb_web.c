// zplan web: makes users of the HTTP gateway.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "curve.h"
#include "print.h"
#include "options.h"
#include "user_file.h"

struct web_options {
    const char *folder;
    int64_t rate; // 0: no limit
};

static const struct option rows[] = {
    TEXT_OPTION (struct web_options, folder, "--out", "DIR",
                 "the folder of users of zplan-web; default: this one", .offered = VALUES_FOLDERS,
                 .utf8 = true),
    NUMBER_OPTION (struct web_options, rate, "--rate", "N", 1, USER_RATE_MAX,
                   "serve at most N requests of the token in a second"),
};

static const char about[] =
    "Make a user of zplan-web: write the file NAME.user, and print the user's token, which is\n"
    "stored nowhere. The station gives the user the rights of the key, which is made for the\n"
    "gateway and not a person's own: $ZPLAN_KEY does not count here. Without --key it gives those\n"
    "of zplan-web itself, where the station has no certificates. To end the user, remove the file: "
    "it counts within a second.\n\n"
    "  zplan keygen web-ops --role observe,manage\n"
    "  zplan web user ann --key web-ops.key_secret --out /etc/zplan/users\n"
    "  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:7924/v1/plans\n\n"
    "Needs no station.\n";

// Write the user's file, never over an existing one. 0, or -1 with a reason.
static int write_user (const struct web_options *options, const char *name, const char *key,
                       const char *token, struct reason *reason)
{
    char path[PATH_MAX], hex[2 * TOKEN_SUM_SIZE + 1];
    uint8_t sum[TOKEN_SUM_SIZE];
    snprintf (path, sizeof path, "%s/%s.user", options->folder, name);
    token_sum (token, sum);
    sodium_bin2hex (hex, sizeof hex, sum, sizeof sum);
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return reason_set (reason, "%s: %s", quoted (span_text (path)), strerror (errno));
    bool written = dprintf (fd, "name = %s\n", name) > 0 &&
                   (!key || dprintf (fd, "key = %s\n", key) > 0) &&
                   dprintf (fd, "token = %s\n", hex) > 0 &&
                   (!options->rate || dprintf (fd, "rate = %" PRId64 "\n", options->rate) > 0);
    bool done = written && fsync (fd) == 0;
    done = close (fd) == 0 && done;
    if (done)
        return 0;
    reason_set (reason, "%s: %s", quoted (span_text (path)), strerror (errno));
    unlink (path);
    return -1;
}

static int make_user (const struct cli *cli, const struct web_options *options)
{
    const char *name = cli->argv[2];
    // $ZPLAN_KEY is the operator's own key: with it the user would get the operator's rights.
    const char *given = cli->key != getenv ("ZPLAN_KEY") ? cli->key : NULL;
    char token[TOKEN_SIZE], key[PATH_MAX];
    struct curve_cert cert;
    struct reason reason = {""};
    if (!user_name_valid (name)) {
        reason_set (&reason, "NAME: want 1..64 of A-Z a-z 0-9 _ . @ -, got %s",
                    quoted (span_text (name)));
        return usage_error (cli->argv[0], &reason);
    }
    int rc = sodium_init () < 0 ? reason_set (&reason, "libsodium cannot be initialized") : 0;
    if (!rc && given)
        rc = curve_cert_load (given, CURVE_SECRET, &cert, &reason);
    if (!rc && given && !realpath (given, key))
        rc = reason_set (&reason, "%s: %s", quoted (span_text (given)), strerror (errno));
    explicit_bzero (&cert, sizeof cert);
    if (rc)
        return complain ("web", span_text (reason.text));
    token_make ("zpw_", token);
    rc = write_user (options, name, given ? key : NULL, token, &reason);
    if (rc)
        complain ("web", span_text (reason.text));
    else if (cli->json)
        print_json_new (json_pack ("{s:s, s:s}", "name", name, "token", token));
    else
        puts (token);
    explicit_bzero (token, sizeof token);
    return rc ? EXIT_REFUSED : EXIT_DONE;
}

int verb_web (const struct cli *cli)
{
    static const struct subcommand words[] = {{"user", 1, 1, "want the name of a user"}};
    struct web_options options = {.folder = "."};
    const struct usage usage = {
        .synopsis = "zplan web user NAME [--key FILE] [--out DIR] [--rate N]",
        .about = about,
        .groups = {OPTION_GROUP ("Options", rows, &options)},
        .words_min = 1,
        .words_max = 2,
        .words = "user and a name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (subcommand_read (words, 1, cli, count, &reason) < 0)
        return usage_error (cli->argv[0], &reason);
    return make_user (cli, &options);
}
