// Where JSON trees of long-running programs have their memory.
#pragma once

// Before the first tree is made: blocks of trees that are freed are kept for the next, up to 2 MiB
// a thread. glibc keeps seven of a size at hand and joins the rest, only to split them again; a
// page of plans has thousands, and was half its time in malloc and free. Not for the library, whose
// program may use jansson itself; not with a sanitizer, which is to see each block.
void json_pool_use (void);

// Free what this thread has kept: between blocks that live, it would keep whole pages of memory.
void json_pool_release (void);
