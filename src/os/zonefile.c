// A zone name is a path below the folder. It is checked before it is used: as a name may not
// contain dots, no path leads out of the folder.
#include "zonefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_SIZE = 64, FILE_MAX_SIZE = 1 << 20, PATH_SIZE = 4096 };

static const char *zone_folder (void)
{
    const char *set = getenv ("ZPLAN_ZONEINFO");
    return set && *set ? set : "/usr/share/zoneinfo";
}

static bool is_zone_name (const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    size_t size = strnlen (name, NAME_MAX_SIZE + 1);
    return size > 0 && size <= NAME_MAX_SIZE && name[0] != '/' &&
           name[strspn (name, allowed)] == '\0';
}

static void set_open_reason (const char *name, int error, struct reason *reason)
{
    if (error == ENOENT || error == ENOTDIR)
        reason_set (reason, "timezone: no zone named '%s' in %s", name, zone_folder ());
    else
        reason_set (reason, "timezone: cannot open '%s' in %s: %s", name, zone_folder (),
                    strerror (error));
}

// Read up to `size` bytes. Returns the number read, or -1.
static ssize_t read_up_to (int file, uint8_t *data, size_t size)
{
    size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < size; done += (size_t)got) {
        got = TEMP_FAILURE_RETRY (read (file, data + done, size - done));
        if (got < 0)
            return -1;
    }
    return (ssize_t)done;
}

// Load a zone from the open file.
static struct zone *load_zone_file (int file, const char *name, struct reason *reason)
{
    struct stat info;
    if (fstat (file, &info) || !S_ISREG (info.st_mode)) {
        reason_set (reason, "timezone: no zone named '%s' in %s", name, zone_folder ());
        return NULL;
    }
    if (info.st_size > FILE_MAX_SIZE) {
        reason_set (reason, "timezone: the file of '%s' is larger than %d bytes", name,
                    FILE_MAX_SIZE);
        return NULL;
    }
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc (size ? size : 1); // libzplan never ends its process for lack of memory
    if (!data) {
        reason_set (reason, "timezone: the file of '%s' is not read: out of memory", name);
        return NULL;
    }
    ssize_t got = read_up_to (file, data, size);
    struct zone *zone = NULL;
    struct reason detail = {0};
    if (got < 0)
        reason_set (reason, "timezone: cannot read the file of '%s': %s", name, strerror (errno));
    else if (!(zone = zone_new (span_of (data, (size_t)got), &detail)))
        reason_set (reason, "timezone: the file of '%s' is %s", name, detail.text);
    free (data);
    return zone;
}

struct zone *zonefile_load (const char *name, struct reason *reason)
{
    if (!is_zone_name (name)) {
        reason_set (reason, "timezone: %s is not a zone name", quoted (span_text (name)));
        return NULL;
    }
    if (strcmp (name, "UTC") == 0) {
        struct zone *utc = zone_new_utc ();
        if (!utc)
            reason_set (reason, "timezone: out of memory");
        return utc;
    }

    char path[PATH_SIZE];
    int length = snprintf (path, sizeof path, "%s/%s", zone_folder (), name);
    // Without O_NONBLOCK, opening a FIFO in the folder would block.
    int file = length < PATH_SIZE ? open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0) {
        set_open_reason (name, length < PATH_SIZE ? errno : ENAMETOOLONG, reason);
        return NULL;
    }
    struct zone *zone = load_zone_file (file, name, reason);
    close (file);
    return zone;
}

const char *zonefile_machine (char out[ZONEFILE_NAME_SIZE], struct reason *reason)
{
    const char *given = getenv ("TZ");
    if (given && *given)
        return given + (*given == ':');
    ssize_t size = readlink ("/etc/localtime", out, ZONEFILE_NAME_SIZE - 1);
    if (size < 0 && errno == ENOENT)
        return "UTC";
    out[size < 0 ? 0 : size] = '\0';
    const char *name = strstr (out, "/zoneinfo/");
    if (name)
        return name + strlen ("/zoneinfo/");
    reason_set (reason, "must be given: /etc/localtime names no zone");
    return NULL;
}
