// The part that outlives a fenced station: made once by the program, destroyed at its end.
#pragma once

struct forward;
struct forward *forward_new (void);
void forward_destroy (struct forward **self);
