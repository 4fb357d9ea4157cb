from collage_core.devices.domains import Clash, Domains
from collage_core.devices.virtual_device import VirtualDevice


def test_positions_that_agree_share_what_is_fixed_for_either():
    domains = Domains()
    domains.constrain("a", VirtualDevice("cuda"), "one annotation")
    domains.constrain("c", VirtualDevice(number=1), "another")
    assert domains.unify("a", "b") is None
    assert domains.unify("b", "c") is None
    assert domains.device("b") == VirtualDevice("cuda", 1)
    assert domains.is_constrained("c")
    assert not domains.is_constrained("d")


def test_a_clash_names_both_annotations_and_changes_nothing():
    domains = Domains()
    domains.constrain("a", VirtualDevice("cuda", 0), "one annotation")
    domains.constrain("b", VirtualDevice("cuda", 1), "another")
    assert domains.unify("a", "b") == Clash("number", 0, "one annotation", 1, "another")
    assert domains.device("b") == VirtualDevice("cuda", 1)
