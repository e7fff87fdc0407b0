"""The identities by which stations connect to targets (identity.lua)."""
IDENTITIES, ATTENDING = "plan:identities", "plan:attending"


def identity(store, instance="i1", home="here", target="Test", fresh="new", replaces=""):
    return store.call("identity", [IDENTITIES, ATTENDING], [instance, home, target, fresh, replaces])


def test_the_first_is_the_one_that_was_offered(store):
    assert identity(store, fresh="a") == ["a", 0]
    assert store.db.hgetall(IDENTITIES) == {"Test a": "i1 here"}


def test_it_is_the_same_after_a_restart(store):
    identity(store, "i1", fresh="a")
    assert identity(store, "i2", fresh="b") == ["a", 1]
    assert store.db.hgetall(IDENTITIES) == {"Test a": "i2 here"}


def test_another_station_and_another_target_have_another(store):
    identity(store, fresh="a")
    assert identity(store, "i2", "there", fresh="b") == ["b", 0]
    assert identity(store, "i1", "here", "Tes", fresh="c") == ["c", 0]
    assert identity(store, "i1", fresh="e") == ["a", 1]


def test_that_of_a_station_that_is_gone_is_taken_over(store):
    identity(store, "i1", fresh="a")
    store.db.hset(ATTENDING, "i1", "1000")
    assert identity(store, "i2", "there", fresh="b") == ["a", 1]
    assert store.db.hgetall(IDENTITIES) == {"Test a": "i2 there"}
    assert identity(store, "i3", "here", fresh="c") == ["c", 0]


def test_one_that_is_replaced_is_gone_and_no_other_is_taken_over(store):
    identity(store, "i1", fresh="a")
    identity(store, "i2", "there", fresh="b")
    store.db.hset(ATTENDING, "i2", "1000")
    assert identity(store, "i1", fresh="c", replaces="a") == ["c", 0]
    assert identity(store, "i1", fresh="c", replaces="a") == ["c", 1]      # asked again
    assert set(store.db.hgetall(IDENTITIES)) == {"Test b", "Test c"}


def test_what_is_no_entry_is_left_alone(store):
    store.db.hset(IDENTITIES, "Test x", "odd")
    assert identity(store, fresh="a")[0] in ("a", "x")
    store.db.set(IDENTITIES, "a string")
    assert identity(store, fresh="a") == ["a", 0]
