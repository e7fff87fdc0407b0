#include "keyfile.h"

#include "endpoints.h"
#include "options.h"
#include "print.h"

int keyfile_read (struct keyfile *self, const struct cli *cli, int *ret_exit)
{
    struct reason reason;
    *self = (struct keyfile){0};
    if (!cli->key && !cli->server_key)
        return 0;
    *ret_exit = EXIT_USAGE;
    if (!cli->key || !cli->server_key)
        reason_set (&reason, "--key FILE and --server-key KEY go together ($ZPLAN_KEY, "
                             "$ZPLAN_SERVER_KEY)");
    else if (!server_keys_valid (cli->server_key, 0))
        reason_set (&reason, "--server-key: want 40 characters of Z85, the station's public key");
    else if (curve_cert_load (cli->key, CURVE_SECRET, &self->cert, &reason))
        *ret_exit = EXIT_REFUSED;
    else
        self->given = true;
    self->curve = (struct zplan_curve){.server_key = cli->server_key,
                                       .public_key = self->cert.keys.public_key,
                                       .secret_key = self->cert.keys.secret_key};
    if (self->given)
        return 0;
    if (*ret_exit == EXIT_USAGE)
        usage_error (cli->argv[0], &reason);
    else
        complain ("--key", span_text (reason.text));
    return -1;
}

const char *keyfile_hint (const struct cli *cli)
{
    return cli->key ? " (with --key: is the key in the station's allow-list, and is --server-key "
                      "the station's?)"
                    : "";
}
