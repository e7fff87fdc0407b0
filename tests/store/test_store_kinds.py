"""kinds: what plans of one kind have in common, under a name."""
import pytest

from storescripts import KINDS, META


def test_kinds_are_put_read_and_removed(store):
    assert store.kinds("list") == store.kinds("get", "a") == store.kinds("remove", "a") == {}
    assert store.kinds("put", "a", "one") == {"a": "one"}
    assert store.kinds("put", "b", "two") == {"b": "two"}
    assert store.kinds("put", "a", "three") == store.kinds("get", "a") == {"a": "three"}
    assert store.kinds("list") == {"a": "three", "b": "two"}
    assert store.kinds("remove", "a") == {"a": ""}
    assert store.kinds("remove", "a") == store.kinds("get", "a") == {}
    assert store.kinds("list") == store.db.hgetall(KINDS) == {"b": "two"}


def test_a_kind_may_be_empty(store):
    assert store.kinds("put", "a", "") == store.kinds("get", "a") == {"a": ""}


def test_there_are_no_more_than_may_be(store):
    for name in "abc":
        assert store.kinds("put", name, name, most=3)
    before = store.dump()
    assert store.kinds("put", "d", "d", most=3) == {}
    assert store.dump() == before
    assert store.kinds("put", "b", "other", most=3) == {"b": "other"}
    store.kinds("remove", "c")
    assert store.kinds("put", "d", "d", most=3) == {"d": "d"}


@pytest.mark.parametrize("word", ["list", "get", "put", "remove"])
def test_what_is_no_hash_is_replaced(store, word):
    store.db.set(KINDS, "text")
    assert store.kinds(word, "a", "1") == ({"a": "1"} if word == "put" else {})
    assert store.db.hgetall(KINDS) == ({"a": "1"} if word == "put" else {})
    assert store.db.hget(META, "wrong") == KINDS


def test_names_and_texts_are_bytes(store):
    text = "".join(map(chr, range(256)))
    assert store.kinds("put", text, text) == store.kinds("list") == {text: text}


@pytest.mark.parametrize("word", ["list", "get", "remove"])
def test_nothing_is_written_where_nothing_is_to_be(store, word):
    store.kinds("put", "a", "1")
    before = store.dump()
    store.kinds(word, "b")
    assert store.dump() == before
