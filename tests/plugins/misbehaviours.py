"""What each toolchain of `collage_test_toolchains` that misbehaves comes to: the stage, and the reason as the user reads it."""

from __future__ import annotations

PLACES = {
    "segfaults_at_build": "SegfaultsAtBuild",
    "segfaults_at_run": "SegfaultsAtRun",
    "is_killed": "IsKilled",
    "hangs_at_build": "HangsAtBuild",
    "hangs_at_run": "HangsAtRun",
    "hangs_when_timed": "HangsWhenTimed",
    "wrong_numbers": "WrongNumbers",
    "wrong_later": "WrongLater",
    "wrong_shape": "WrongShape",
    "makes_nan": "MakesNan",
    "leaves_outputs": "LeavesOutputs",
    "swaps_buffers": "SwapsBuffers",
    "alternates": "Alternates",
    "dithers": "Dithers",
    "computes_once": "ComputesOnce",
    "overwrites_input": "OverwritesInput",
    "raises_oddly": "RaisesOddly",
    "raises_much": "RaisesMuch",
    "raises_mutely": "RaisesMutely",
    "refuses_relu": "RefusesRelu",
    "refuses_much": "RefusesMuch",
    "refuses_without_stage": "RefusesWithoutStage",
    "interrupts": "Interrupts",
    "gives_up_for_all": "GivesUpForAll",
    "leaves_quietly": "LeavesQuietly",
    "asks_to_end": "AsksToEnd",
    "gives_no_bytes": "GivesNoBytes",
    "gives_text": "GivesText",
    "fails_to_load": "FailsToLoad",
    "loads_nothing": "LoadsNothing",
    "lacks_library": "LacksLibrary",
    "eats_memory": "EatsMemory",
    "floods": "Floods",
    "sends_no_pickle": "SendsNoPickle",
    "sends_anything": "SendsAnything",
    "answers_itself": "AnswersItself",
    "closes_all": "ClosesAll",
}
"""Name → class."""

_NOTHING = r"^its output '\w+' has NaN, infinity, or nothing at all where the reference has numbers"
_ERRS = r"^its output '\w+' errs by [\d.]+ of the largest value, at most 0\.001 may be$"
_NO_MESSAGE = r"^answered with what is no message \(.+\) while building$"

REASONS = {
    "segfaults_at_build": ("build", r"^crashed with SIGSEGV while building; its last words: 'optimising node 7 of 9'$"),
    "segfaults_at_run": ("run", r"^crashed with SIGSEGV while running$"),
    "is_killed": ("build", r"^was killed by SIGKILL while building$"),
    "hangs_at_build": ("build", r"^gave no answer within [\d.]+ s while building$"),
    "hangs_at_run": ("run", r"^gave no answer within [\d.]+ s while running$"),
    "hangs_when_timed": ("run", r"^gave no answer within [\d.]+ s while running$"),
    "wrong_numbers": ("numerics", r"^its output '\w+' errs by 0\.01 of the largest value, at most 0\.001 may be$"),
    "wrong_later": ("numerics", _ERRS),
    "wrong_shape": ("run", r"^ValueError: could not broadcast input array from shape \(3,5\) into shape \(2,64\)$"),
    "makes_nan": ("numerics", _NOTHING),
    "leaves_outputs": ("numerics", _NOTHING),
    "swaps_buffers": ("numerics", _NOTHING),
    "alternates": ("numerics", _ERRS),
    "dithers": ("numerics", _ERRS),
    "computes_once": ("numerics", _NOTHING),
    "overwrites_input": ("run", r"^it overwrites its input '\w+', which others may still read$"),
    "raises_oddly": ("build", r"^Oddity: InternalError: lowering failed$"),
    "raises_much": ("build", r"^RuntimeError: .*at node 7, at node 7, .*…$"),
    "raises_mutely": ("build", r"^Mute: its text cannot be had: RuntimeError$"),
    "refuses_relu": ("import", r"^no converter for Relu$"),
    "refuses_much": ("build", r"^out of +registers$"),
    "refuses_without_stage": ("build", r"^HalfMade$"),
    "interrupts": ("build", r"^KeyboardInterrupt$"),
    "gives_up_for_all": ("build", r"^it cancelled what nobody had stopped$"),
    "leaves_quietly": ("build", r"^ended with exit status 0 while building$"),
    "asks_to_end": ("build", r"^SystemExit: it asked the process to end with 'licence not found'$"),
    "gives_no_bytes": ("build", r"^it gave a NoneType as a package, not bytes$"),
    "gives_text": ("build", r"^it gave a str as a package, not bytes$"),
    "fails_to_load": ("build", r"^OSError: undefined symbol: relu_f32$"),
    "loads_nothing": ("build", r"^it gave a NoneType as a kernel, which cannot be bound and run$"),
    "lacks_library": ("build", r"^ModuleNotFoundError: No module named 'lacking'$"),
    "eats_memory": ("build", r"^took more than the 0\.4 GB of memory that it may while building$"),
    "floods": ("build", _NO_MESSAGE),
    "sends_no_pickle": ("build", _NO_MESSAGE),
    "sends_anything": ("build", _NO_MESSAGE),
    "answers_itself": ("build", _NO_MESSAGE),
    "closes_all": ("build", r"^ended with exit status [01] while building$"),
}
"""Name → (stage, what the reason must match)."""


def places(*names: str) -> str:
    """What ``COLLAGE_TOOLCHAINS`` must say for these."""
    return ",".join(f"collage_test_toolchains:{PLACES[name]}" for name in names)
