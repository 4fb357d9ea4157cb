import pytest

from collage_core.devices.virtual_device import VirtualDevice, device_from_text

CUDA = VirtualDevice("cuda")


def test_each_field_is_fixed_or_free_and_joining_keeps_what_either_fixes():
    assert CUDA.join(VirtualDevice(number=1, memory_scope="texture")) == VirtualDevice("cuda", 1, None, "texture")
    assert VirtualDevice().join(VirtualDevice()) == VirtualDevice()
    assert CUDA.join(VirtualDevice("cpu")) is None
    assert VirtualDevice("cuda", 0).join(VirtualDevice("cuda", 1)) is None


def test_a_device_refines_what_fixes_less_of_the_same():
    assert VirtualDevice("cuda", 1).refines(CUDA)
    assert CUDA.refines(VirtualDevice())
    assert not CUDA.refines(VirtualDevice("cuda", 1))
    assert not VirtualDevice("cpu").refines(CUDA)


def test_free_fields_are_the_defaults_as_far_as_they_belong_to_the_device():
    default = VirtualDevice("cuda", 1, "tvm", "texture")
    assert VirtualDevice().filled(default) == default
    assert VirtualDevice("cuda", 0).filled(default) == VirtualDevice("cuda", 0, None, "texture")
    assert VirtualDevice("cpu").filled(default) == VirtualDevice("cpu", 0, None, "global")


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cuda", CUDA),
        ("cuda:1", VirtualDevice("cuda", 1)),
        ("cuda:1/global.texture", VirtualDevice("cuda", 1, None, "global.texture")),
        ("cuda:", None),
        (":1", None),
        ("", None),
    ],
)
def test_a_device_is_named_by_type_number_and_scope(text: str, device: VirtualDevice | None):
    assert device_from_text(text) == device


def test_a_memory_has_the_name_of_its_location():
    host = VirtualDevice("cpu", 0, None, "global")
    assert VirtualDevice("cpu", 0, "tvm", "global").location(host) == "host"
    assert VirtualDevice("cuda", 1, None, "global").location(host) == "cuda:1"
    assert VirtualDevice("cuda", 0, None, "texture").location(host) == "cuda:0/texture"
