// Graphs of steps as texts.
#include "graph.h"
#include "rows.h"

static const struct graph_node diamond_nodes[] = {
    {.name = "fetch", .what = "jobs"},
    {.name = "left", .kind = GRAPH_EACH, .what = "jobs"},
    {.name = "right", .kind = GRAPH_WAIT, .what = "1 h"},
    {.name = "both", .kind = GRAPH_COMPUTE, .join = "any"},
    {.name = "alarm", .kind = GRAPH_FLOW, .what = "alarm"},
    {.name = "clean", .what = "a \"b\"", .is_finally = true},
};

// The edge from the first to the last but one keeps it in the last layer of its sources.
static const struct graph_edge diamond_edges[] = {
    {0, 4, "failed,ended"}, {0, 1, NULL}, {0, 2, NULL}, {1, 3, NULL}, {2, 3, NULL}, {3, 4, NULL}};

static const struct graph diamond = {.name = "diamond",
                                     .nodes = diamond_nodes,
                                     .node_count = ROWS (diamond_nodes),
                                     .edges = diamond_edges,
                                     .edge_count = ROWS (diamond_edges)};

static const struct graph_node lone_nodes[] = {{.name = "one", .kind = GRAPH_SIGNAL}};
static const struct graph lone = {.name = "lone", .nodes = lone_nodes, .node_count = 1};

static const struct graph_node html_nodes[] = {{.name = "one", .what = "<i> & \"b\""}};
static const struct graph html = {.name = "html", .nodes = html_nodes, .node_count = 1};

static const struct text_row {
    const char *name;
    const struct graph *graph;
    char *(*make) (const struct graph *graph, size_t *ret_size);
    const char *want;
} text_rows[] = {
    {"layers", &diamond, graph_layers,
     "diamond: 6 steps, 6 edges, 5 layers\n\n"
     "    1  fetch  jobs\n"
     "    2  left   jobs, each item  after fetch\n"
     "       right  wait 1 h         after fetch\n"
     "    3  both   computes         after any of left, right\n"
     "    4  alarm  flow alarm       after fetch (failed,ended), both\n"
     "    5  clean  a \"b\"            finally\n"},
    {"layers of one step", &lone, graph_layers,
     "lone: 1 step, 0 edges, 1 layer\n\n    1  one  signal\n"},
    {"dot", &diamond, graph_dot,
     "digraph \"diamond\" {\n    rankdir=TB;\n    node [shape=box];\n"
     "    \"fetch\" [label=\"fetch\\njobs\", shape=box];\n"
     "    \"left\" [label=\"left\\njobs, each item\", shape=box3d];\n"
     "    \"right\" [label=\"right\\nwait 1 h\", shape=ellipse];\n"
     "    \"both\" [label=\"both\\ncomputes\\nany of its sources\", shape=plaintext];\n"
     "    \"alarm\" [label=\"alarm\\nflow alarm\", shape=folder];\n"
     "    \"clean\" [label=\"clean\\na 'b'\", shape=box, style=dashed];\n"
     "    \"fetch\" -> \"alarm\" [label=\"failed,ended\", style=dashed];\n"
     "    \"fetch\" -> \"left\";\n    \"fetch\" -> \"right\";\n    \"left\" -> \"both\";\n"
     "    \"right\" -> \"both\";\n    \"both\" -> \"alarm\";\n}\n"},
    {"mermaid", &diamond, graph_mermaid,
     "flowchart TB\n    s0[\"fetch<br>jobs\"]\n    s1[[\"left<br>jobs, each item\"]]\n"
     "    s2([\"right<br>wait 1 h\"])\n    s3(\"both<br>computes<br>any of its sources\")\n"
     "    s4[/\"alarm<br>flow alarm\"/]\n    s5[\"clean<br>a 'b'<br>finally\"]\n"
     "    s0 -. failed,ended .-> s4\n    s0 --> s1\n    s0 --> s2\n    s1 --> s3\n"
     "    s2 --> s3\n    s3 --> s4\n"},
    {"mermaid's labels are HTML", &html, graph_mermaid,
     "flowchart TB\n    s0[\"one<br>&lt;i&gt; &amp; 'b'\"]\n"},
};

static void graphs_are_texts (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (text_rows); i++) {
        size_t size;
        char *got = text_rows[i].make (text_rows[i].graph, &size);
        CHECK_TEXT (text_rows[i].name, got, text_rows[i].want);
        CHECK_INT (text_rows[i].name, size, strlen (text_rows[i].want));
        free (got);
    }
}

// 10000 steps in a chain, each with edges from the five before it.
static void large_graphs_are_layered_at_once (void **state)
{
    (void)state;
    enum { NODES = 10000, REACH = 5 };
    static struct graph_node nodes[NODES];
    static struct graph_edge edges[NODES * REACH];
    uint32_t count = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct graph_node){.name = "step", .what = "jobs"};
        for (uint32_t back = 1; back <= REACH && back <= i; back++)
            edges[count++] = (struct graph_edge){.source = i - back, .target = i};
    }
    const struct graph graph = {"chain", nodes, NODES, edges, count};
    size_t size;
    char *text = graph_layers (&graph, &size);
    CHECK ("the last layer",
           strstr (text, "\n10000  step  jobs  after step, step, step, step, step\n"));
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (graphs_are_texts),
                                       cmocka_unit_test (large_graphs_are_layered_at_once)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
