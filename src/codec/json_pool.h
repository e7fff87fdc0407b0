// The allocator for JSON trees of long-running programs.
#pragma once

// Call it before the first tree is made. Blocks of freed trees are cached for reuse, up to 2 MiB
// per thread. glibc caches seven blocks per size and merges the rest, only to split them again; a
// page of plans needs thousands, and spent half its time in malloc and free. Do not use it in the
// library, whose program may use jansson itself, or with a sanitizer, which must see each block.
void json_pool_use (void);

// Free the blocks that this thread has cached: scattered between live blocks, they would keep whole
// pages of memory.
void json_pool_release (void);
