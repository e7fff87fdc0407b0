// zplan keygen: makes a pair of keys, in two certificate files.
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "curve.h"
#include "options.h"
#include "print.h"

struct keygen_options {
    const char *folder;
    const char *roles;
    const char *stations;
};

static const struct option rows[] = {
    TEXT_OPTION (struct keygen_options, folder, "--out", "DIR",
                 "the folder to write to, which must be there; default: this one",
                 .offered = VALUES_FOLDERS, .utf8 = true),
    TEXT_OPTION (struct keygen_options, roles, "--role", "ROLES",
                 "what the key's owner may do, several with commas:\n"
                 " submit   add, import, cron, next, kind list,\n"
                 "          kind get, flow start, flow backfill (with\n"
                 "          observe, or its --again)\n"
                 " observe  list, show, next, history, why, team,\n"
                 "          status, stats, load, metrics, doctor, top,\n"
                 "          watch, logs, result, export, target list,\n"
                 "          limit list, kind list, kind get, flow list,\n"
                 "          flow get, flow runs, flow show, flow log,\n"
                 "          flow why\n"
                 " manage   pause, reset, skip, close, remove, run,\n"
                 "          cancel, done, handover, target add,\n"
                 "          target remove, limit set, limit remove,\n"
                 "          kind put, kind remove,\n"
                 "          flow put, flow use, flow remove, flow skip,\n"
                 "          flow retry, flow done, flow reset,\n"
                 "          flow suspend, flow resume, flow cancel,\n"
                 "          callback (its list with observe), update,\n"
                 "          archive, import (these three, and filters\n"
                 "          as pause --target, with observe)\n"
                 " result   results of runs (targets); of workers that\n"
                 "          fetch plans: take, alive, report, team\n"
                 " signal   flow signal, flow reject"),
    TEXT_OPTION (struct keygen_options, stations, "--target", "NAMES",
                 "only with plans of these targets, several with commas;\n"
                 "report-* is all that begin so; such a key cannot watch",
                 .aliases = "--station"),
};

static const char about[] =
    "Make a pair of keys for encrypted connections (CURVE), and print the public one. Writes\n"
    "  NAME.key         the public key and what it allows: for the station's folder\n"
    "                   of keys that may connect (zpland --allow DIR)\n"
    "  NAME.key_secret  both keys: it stays with their owner, nobody else may read it\n"
    "and never writes over a file. NAME is 1 to 64 of A-Z a-z 0-9 _ . - and appears in the\n"
    "station's log.\n\n"
    "Each program has its own pair:\n"
    "  zplan keygen station                   # of the plan station; it needs no role\n"
    "  zplan keygen billing --role submit,observe --target 'jobs,report-*'\n"
    "  cp billing.key /etc/zplan/allow/       # it may connect, until it is removed\n"
    "  zpland --curve station.key_secret --allow /etc/zplan/allow ...\n"
    "  zplan list --key billing.key_secret --server-key 'THE PUBLIC KEY OF station'\n"
    "A key may hold characters that a shell takes for its own: put it in single quotes. A target\n"
    "station that sends results to the plan station needs the role result there.\n";

// Report the new files. For people stdout gets only the key, so that a script can read it.
static void report_key (const struct cli *cli, const struct curve_cert *cert,
                        const char *public_file, const char *secret_file)
{
    if (!cli->json) {
        printf ("%s\n", cert->keys.public_key);
        fprintf (stderr, "zplan keygen: wrote %s and %s\n", public_file, secret_file);
        if (!*cert->roles)
            fprintf (stderr,
                     "zplan keygen: it has no --role: a station does not take %s into its "
                     "allow-list\n",
                     public_file);
        return;
    }
    print_json_new (json_pack ("{s:s, s:s, s:s, s:s}", "name", cert->name, "public_key",
                               cert->keys.public_key, "public_file", public_file, "secret_file",
                               secret_file));
}

// Copy the name and the requested rights into the certificate. 0, or -1 with a reason.
static int apply_options (const struct keygen_options *options, const char *name,
                          struct curve_cert *ret, struct reason *reason)
{
    struct {
        const char *what, *text;
        char *out;
        size_t size;
    } texts[] = {
        {"NAME", name, ret->name, sizeof ret->name},
        {"--role", options->roles, ret->roles, sizeof ret->roles},
        {"--target", options->stations, ret->stations, sizeof ret->stations},
    };
    if (options->stations && !*options->stations) { // an empty list would allow all
        return reason_set (reason, "--target: want names of targets, as jobs,report-*");
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = texts[i].text ? strlen (texts[i].text) : 0;
        if (size >= texts[i].size)
            return reason_set (reason, "%s: at most %zu bytes", texts[i].what, texts[i].size - 1);
        if (size)
            memcpy (texts[i].out, texts[i].text, size + 1);
    }
    return curve_cert_check (ret, reason) ? -1 : 0;
}

int verb_keygen (const struct cli *cli)
{
    struct keygen_options options = {.folder = ".", .roles = ""};
    const struct usage usage = {
        .synopsis = "zplan keygen NAME [--out DIR] [--role ROLES] [--target NAMES]",
        .about = about,
        .groups = {OPTION_GROUP ("Options", rows, &options)},
        .words_min = 1,
        .words_max = 1,
        .words = "one name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct curve_cert cert = {0};
    struct reason reason;
    if (apply_options (&options, cli->argv[1], &cert, &reason))
        return usage_error (cli->argv[0], &reason);
    char public_file[CURVE_PATH_SIZE], secret_file[CURVE_PATH_SIZE];
    bool made = curve_keys_make (&cert.keys, &reason) == 0 &&
                curve_cert_save (options.folder, &cert, public_file, secret_file, &reason) == 0;
    if (made)
        report_key (cli, &cert, public_file, secret_file);
    else
        complain ("keygen", span_text (reason.text));
    explicit_bzero (&cert, sizeof cert);
    return made ? EXIT_DONE : EXIT_REFUSED;
}
