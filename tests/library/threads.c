// threads ENDPOINT: two clients in two threads, which know nothing of each other. A line for each
// thread that had all its answers.
#include <zplan.h>

#include "check.h"

enum { CALLS = 200 };

static const char *endpoint;

static void *work (void *name)
{
    struct zplan_client *client = zplan_client_new (endpoint);
    CHECK (client);
    zplan_client_set_timeout (client, 60000);
    for (int i = 0; i < CALLS; i++) {
        struct zplan_reply reply;
        char words[100];
        CHECK (zplan_client_manage (client, name, NULL, 0, &reply) == ZPLAN_OK);
        CHECK (reply.status == ZERO_STATUS_NOT_SUPPORT_ID);
        CHECK (strstr (zplan_reply_words (&reply, words, sizeof words), name));
    }
    zplan_client_destroy (&client);
    printf ("%s\n", (const char *)name);
    return NULL;
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    endpoint = argv[1];
    char names[2][8] = {"lemons", "melons"};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK (pthread_create (&threads[i], NULL, work, names[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK (pthread_join (threads[i], NULL) == 0);
    return 0;
}
