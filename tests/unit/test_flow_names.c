// The flows of a station: names, what is known of them, who calls whom; and the cache of compiled
// definitions.
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "flow_cache.h"
#include "flow_names.h"
#include "memory.h"

static struct span text (const char *text)
{
    return span_text (text);
}

// Facts of a flow with so many calls of its own, which calls others: "a=2 b=1".
static struct flow_facts *facts (uint64_t own, const char *calls)
{
    char json[2000], flows[1000] = "", name[80];
    int times, size = 0;
    for (const char *at = calls; sscanf (at, " %64[a-z0-9]=%d%n", name, &times, &size) == 2;
         at += size)
        snprintf (flows + strlen (flows), sizeof flows - strlen (flows), "%s\"%s\":%d",
                  flows[0] ? "," : "", name, times);
    snprintf (json, sizeof json,
              "{\"steps\":1,\"steps_max\":%d,\"depth\":1,\"bounded\":true,\"has_tail\":false,"
              "\"seconds_max\":5,\"calls\":%d,\"flows\":{%s}}",
              (int)own, (int)own, flows);
    return flow_facts_read (text (json));
}

static void add (struct flow_names *names, const char *name, uint64_t own, const char *calls)
{
    flow_entry_set_facts (flow_names_add (names, text (name)), facts (own, calls));
}

static void names_are_sorted_and_found (void **state)
{
    static const char *const given[] = {"b", "a", "ab", "B", "a.b", "a"};
    static const char *const sorted[] = {"B", "a", "a.b", "ab", "b"};
    struct flow_names names = {0};
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        flow_names_add (&names, text (given[i]))->use = (int)i + 1;
    assert_int_equal (names.count, 5);
    for (size_t i = 0; i < names.count; i++) {
        assert_string_equal (names.entries[i].name, sorted[i]);
        assert_ptr_equal (flow_names_find (&names, text (sorted[i])), &names.entries[i]);
        assert_int_equal (flow_names_after (&names, text (sorted[i])), i + 1);
    }
    assert_int_equal (flow_names_find (&names, text ("a"))->use, 6);
    assert_int_equal (flow_names_after (&names, text ("")), 0);
    assert_int_equal (flow_names_after (&names, text ("aa")), 3);
    assert_null (flow_names_find (&names, text ("")));
    assert_null (flow_names_find (&names, text ("c")));
    flow_names_remove (&names, text ("a.b"));
    flow_names_remove (&names, text ("a.b"));
    assert_int_equal (names.count, 4);
    assert_string_equal (names.entries[2].name, "ab");
    flow_names_clear (&names);
}

static void a_copy_is_not_changed_with_the_first (void **state)
{
    struct flow_names names = {0}, copy;
    (void)state;
    add (&names, "a", 1, "b=2");
    add (&names, "b", 3, "");
    flow_names_copy (&copy, &names);
    flow_names_recompute (&names);
    flow_names_remove (&names, text ("b"));
    assert_int_equal (names.entries[0].facts->report.steps_max, 7);
    assert_int_equal (copy.entries[0].facts->report.steps_max, 1);
    assert_int_equal (copy.count, 2);
    flow_names_clear (&names);
    assert_string_equal (copy.entries[0].facts->calls[0].name, "b");
    flow_names_clear (&copy);
}

static void facts_are_read_as_they_were_written (void **state)
{
    static const char *const wrong[] = {
        "",
        "{}",
        "[]",
        "{\"steps\":0}",
        "{\"steps\":1,\"steps_max\":1,\"depth\":1,\"seconds_max\":0,\"calls\":1}",
        "{\"steps\":1,\"steps_max\":1,\"depth\":1,\"seconds_max\":0,\"calls\":1,\"flows\":{\"a "
        "b\":1}}",
        "{\"steps\":1,\"steps_max\":1,\"depth\":1,\"seconds_max\":0,\"calls\":1,\"flows\":{\"a\":-"
        "1}}",
        "{\"steps\":1,\"steps_max\":1,\"depth\":1,\"seconds_max\":0,\"calls\":1,\"flows\":{},"
        "\"because\":[1]}"};
    static const char definition[] =
        "{\"flow\":\"f\",\"steps\":{\"a\":{\"target\":\"t\",\"for_each\":5},\"b\":{\"wait\":1}}}";
    json_t *errors;
    (void)state;
    struct flow *flow = flow_parse (text (definition), NULL, &errors);
    struct flow_facts *made = flow_facts_of (flow);
    char *json = flow_facts_text (made);
    struct flow_facts *read = flow_facts_read (text (json));
    assert_non_null (read);
    assert_int_equal (read->own_calls, 5);
    assert_int_equal (read->steps, 2);
    assert_int_equal (read->report.steps_max, 5);
    assert_false (read->report.bounded);
    assert_int_equal (json_array_size (read->report.because), 1);
    char *again = flow_facts_text (read);
    assert_string_equal (json, again);
    free (json);
    free (again);
    flow_facts_release (&read);
    flow_facts_release (&made);
    flow_destroy (&flow);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null (flow_facts_read (text (wrong[i])));
}

static void callers_are_found_and_counted (void **state)
{
    struct flow_names names = {0};
    struct reason reason;
    (void)state;
    add (&names, "root", 1, "mid=10 leaf=1");
    add (&names, "mid", 2, "leaf=3");
    add (&names, "leaf", 4, "");
    add (&names, "lone", 1, "gone=7");
    flow_names_recompute (&names);
    assert_int_equal (flow_names_find (&names, text ("mid"))->facts->report.steps_max, 14);
    assert_int_equal (flow_names_find (&names, text ("root"))->facts->report.steps_max, 145);
    assert_int_equal (flow_names_find (&names, text ("root"))->facts->report.depth, 3);
    assert_true (flow_names_lead_to (&names, text ("root"), text ("leaf")));
    assert_true (flow_names_lead_to (&names, text ("root"), text ("root")));
    assert_false (flow_names_lead_to (&names, text ("leaf"), text ("root")));
    assert_false (flow_names_lead_to (&names, text ("nobody"), text ("root")));
    assert_string_equal (flow_names_caller (&names, text ("leaf"))->name, "mid");
    assert_string_equal (flow_names_caller (&names, text ("gone"))->name, "lone");
    assert_null (flow_names_caller (&names, text ("root")));
    struct flow_facts *large = facts (40000, "");
    assert_false (flow_names_check_limits (&names, "leaf", large, &reason));
    assert_string_equal (reason.text, "a run of flow root, which leads here, might make 1240021 "
                                      "calls, more than 1000000");
    assert_true (flow_names_check_limits (&names, "lone", large, &reason));
    flow_facts_release (&large);
    flow_names_clear (&names);
}

static void cycles_made_by_hand_end (void **state)
{
    struct flow_names names = {0};
    struct reason reason;
    char name[8], next[16];
    (void)state;
    for (int i = 0; i < 2000; i++) {
        snprintf (name, sizeof name, "f%04d", i);
        snprintf (next, sizeof next, "f%04d=2", (i + 1) % 2000);
        add (&names, name, 1, next);
    }
    flow_names_recompute (&names);
    assert_true (flow_names_lead_to (&names, text ("f0000"), text ("f1999")));
    assert_false (flow_names_lead_to (&names, text ("f0000"), text ("g")));
    flow_names_check_limits (&names, "f0007", names.entries[0].facts, &reason);
    flow_names_clear (&names);
}

// -- compiled definitions

static const struct flow *keep (struct flow_cache *cache, const char *name, int version)
{
    char definition[200];
    json_t *errors;
    snprintf (definition, sizeof definition, "{\"flow\":\"%s\",\"steps\":{\"a\":{\"wait\":%d}}}",
              name, version);
    struct flow *flow = flow_parse (text (definition), NULL, &errors);
    return flow_cache_put (cache, name, version, flow, strlen (definition));
}

static void the_definitions_used_last_are_kept (void **state)
{
    struct flow_cache cache = {.max = 30000}; // of four
    (void)state;
    const struct flow *held = keep (&cache, "a", 1);
    flow_cache_hold (&cache, held);
    for (int version = 2; version < 8; version++) {
        keep (&cache, "a", version);
        assert_non_null (flow_cache_find (&cache, text ("a"), 2));
    }
    assert_ptr_equal (flow_cache_find (&cache, text ("a"), 1), held);
    assert_null (flow_cache_find (&cache, text ("a"), 3));
    assert_non_null (flow_cache_find (&cache, text ("a"), 7));
    assert_true (flow_cache_is_held (&cache, text ("a"), 1));
    assert_false (flow_cache_is_held (&cache, text ("a"), 7));
    flow_cache_release (&cache, held);
    flow_cache_release (&cache, held); // once too often
    assert_false (flow_cache_is_held (&cache, text ("a"), 1));
    flow_cache_clear (&cache);
    assert_int_equal (cache.size, 0);
}

static void one_that_is_held_outlives_its_name (void **state)
{
    struct flow_cache cache = {.max = 1 << 20};
    (void)state;
    const struct flow *held = keep (&cache, "a", 1);
    flow_cache_hold (&cache, held);
    flow_cache_hold (&cache, held);
    keep (&cache, "a", 2);
    keep (&cache, "b", 1);
    flow_cache_forget (&cache, text ("a"), 0);
    assert_null (flow_cache_find (&cache, text ("a"), 1));
    assert_null (flow_cache_find (&cache, text ("a"), 2));
    assert_non_null (flow_cache_find (&cache, text ("b"), 1));
    assert_string_equal (held->name, "a");
    const struct flow *other = keep (&cache, "a", 1);
    assert_ptr_not_equal (other, held);
    flow_cache_release (&cache, held);
    assert_string_equal (held->name, "a");
    flow_cache_release (&cache, held);
    assert_ptr_equal (flow_cache_find (&cache, text ("a"), 1), other);
    flow_cache_clear (&cache);
}

// A definition larger than the cache is there as long as it is the last one.
static void a_large_one_has_room (void **state)
{
    struct flow_cache cache = {.max = 10};
    (void)state;
    const struct flow *one = keep (&cache, "a", 1);
    assert_ptr_equal (flow_cache_find (&cache, text ("a"), 1), one);
    keep (&cache, "a", 2);
    assert_null (flow_cache_find (&cache, text ("a"), 1));
    flow_cache_clear (&cache);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (names_are_sorted_and_found),
        cmocka_unit_test (a_copy_is_not_changed_with_the_first),
        cmocka_unit_test (facts_are_read_as_they_were_written),
        cmocka_unit_test (callers_are_found_and_counted),
        cmocka_unit_test (cycles_made_by_hand_end),
        cmocka_unit_test (the_definitions_used_last_are_kept),
        cmocka_unit_test (one_that_is_held_outlives_its_name),
        cmocka_unit_test (a_large_one_has_room),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
