"""The failure of each toolchain of `failing_toolchains` and `erring_toolchains`: the stage, and the reason as the user reads it."""

from __future__ import annotations

PLACES = {
    "segfaults_at_build": "failing_toolchains:SegfaultsAtBuild",
    "segfaults_at_run": "failing_toolchains:SegfaultsAtRun",
    "is_killed": "failing_toolchains:IsKilled",
    "hangs_at_build": "failing_toolchains:HangsAtBuild",
    "hangs_at_run": "failing_toolchains:HangsAtRun",
    "hangs_when_timed": "failing_toolchains:HangsWhenTimed",
    "wrong_numbers": "erring_toolchains:WrongNumbers",
    "wrong_later": "erring_toolchains:WrongLater",
    "wrong_shape": "erring_toolchains:WrongShape",
    "makes_nan": "erring_toolchains:MakesNan",
    "leaves_outputs": "erring_toolchains:LeavesOutputs",
    "swaps_buffers": "erring_toolchains:SwapsBuffers",
    "alternates": "erring_toolchains:Alternates",
    "dithers": "erring_toolchains:Dithers",
    "computes_once": "erring_toolchains:ComputesOnce",
    "overwrites_input": "erring_toolchains:OverwritesInput",
    "raises_oddly": "failing_toolchains:RaisesOddly",
    "raises_much": "failing_toolchains:RaisesMuch",
    "raises_mutely": "failing_toolchains:RaisesMutely",
    "refuses_relu": "failing_toolchains:RefusesRelu",
    "refuses_much": "failing_toolchains:RefusesMuch",
    "refuses_without_stage": "failing_toolchains:RefusesWithoutStage",
    "interrupts": "failing_toolchains:Interrupts",
    "gives_up_for_all": "failing_toolchains:GivesUpForAll",
    "leaves_quietly": "failing_toolchains:LeavesQuietly",
    "asks_to_end": "failing_toolchains:AsksToEnd",
    "gives_no_bytes": "failing_toolchains:GivesNoBytes",
    "gives_text": "failing_toolchains:GivesText",
    "fails_to_load": "failing_toolchains:FailsToLoad",
    "loads_nothing": "failing_toolchains:LoadsNothing",
    "lacks_library": "failing_toolchains:LacksLibrary",
    "eats_memory": "failing_toolchains:EatsMemory",
    "floods": "failing_toolchains:Floods",
    "sends_no_pickle": "failing_toolchains:SendsNoPickle",
    "sends_anything": "failing_toolchains:SendsAnything",
    "answers_itself": "failing_toolchains:AnswersItself",
    "closes_all": "failing_toolchains:ClosesAll",
}
"""Name → module and class."""

_NOTHING = (
    r"^(on extreme inputs: )?"
    r"its output '\w+' has NaN, infinity, or nothing at all where the reference has numbers, or the reverse: \[[\d, ]*\] is \S+, not \S+$"
)
_ERRS = r"^its output '\w+' errs by [\d.]+ of the largest value, more than the accuracy allows: \[[\d, ]*\] is \S+, not \S+$"
_NO_MESSAGE = r"^answered with something that is not a message \(.+\) while building$"

REASONS = {
    "segfaults_at_build": ("build", r"^crashed with SIGSEGV while building; its last output: 'optimising node 7 of 9'$"),
    "segfaults_at_run": ("run", r"^crashed with SIGSEGV while running$"),
    "is_killed": ("build", r"^was killed by SIGKILL while building$"),
    "hangs_at_build": ("build", r"^gave no answer within [\d.]+ s while building$"),
    "hangs_at_run": ("run", r"^gave no answer within [\d.]+ s while running$"),
    "hangs_when_timed": ("run", r"^gave no answer within [\d.]+ s while running$"),
    "wrong_numbers": (
        "numerics",
        r"^its output '\w+' errs by 0\.01 of the largest value, more than the accuracy allows: \[[\d, ]*\] is \S+, not \S+$",
    ),
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
    "raises_mutely": ("build", r"^Mute: its text is not available: RuntimeError$"),
    "refuses_relu": ("import", r"^no converter for Relu$"),
    "refuses_much": ("build", r"^out of (\\x07| +)registers$"),
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
"""Name → (stage, pattern of the reason)."""


def plug_in_names(*names: str) -> str:
    """Return the value of ``COLLAGE_TOOLCHAINS`` for these."""
    return ",".join(PLACES[name] for name in names)
