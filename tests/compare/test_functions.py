"""A program that is gone and one that is new may be one function: who is paired with whom, and what is a guess."""

from collections.abc import Mapping, Sequence

from bufferhouse.compare.functions import join
from bufferhouse.compare.pairing import RENAMED, RESHAPED, Dump, pair_up

BATCH_32, BATCH_64 = "(f32[32,8])->(f32[32])", "(f32[64,8])->(f32[64])"


def dump(dump_id: int, name: str, signature: str = BATCH_32, program_id: int | None = None) -> Dump:
    """A dump; its program is that of the name and signature."""
    return Dump(dump_id, program_id or hash((name, signature)), name, "cpu", "cpu", 1, signature)


def joined(
    before: Sequence[Dump], after: Sequence[Dump], op_names: Mapping[int, Sequence[str]] | None = None
) -> set[tuple]:
    """The pairs by dump_id, each with its change and whether it is a guess."""
    names = {dump_id: dict.fromkeys(found, 1) for dump_id, found in (op_names or {}).items()}
    found = join(pair_up(before, after, {}), lambda _: names)
    pairs = {(one.before and one.before.dump_id, one.after and one.after.dump_id, one.change, one.is_ambiguous)
             for one in found}  # fmt: skip
    assert len(pairs) == len(found)
    return pairs


def test_a_step_with_another_batch_is_not_one_program_gone_and_one_new():
    """The same function with another signature is one pair; other programs stay as they were."""
    before = [dump(1, "jit_step"), dump(2, "jit_eval"), dump(3, "jit_old")]
    after = [dump(4, "jit_step", BATCH_64), dump(5, "jit_eval"), dump(6, "jit_new", BATCH_64)]
    op_names = {1: ["jit(step)/dot", "params['w']"], 4: ["jit(step)/dot", "params['w']"]}
    assert {
        (1, 4, RESHAPED, False), (2, 5, None, False), (3, None, None, False), (None, 6, None, False)
    } == joined(before, after, op_names)  # fmt: skip
    asked: list[int] = []
    join(pair_up(before, after, {}), lambda dump_ids: asked.extend(dump_ids) or {})
    assert {1, 3, 4, 6} == set(asked)


def test_of_two_signatures_of_a_function_the_most_alike_are_paired():
    """Not by size or order: a wide and a narrow model keep their partners, known by op_names and paths."""
    wide, narrow = [f"params['wide'][{n}]" for n in range(9)], [f"params['narrow'][{n}]" for n in range(9)]
    before = [dump(1, "jit_f", "(f32[1])->()"), dump(2, "jit_f", "(f32[2])->()")]
    after = [dump(3, "jit_f", "(f32[3])->()"), dump(4, "jit_f", "(f32[4])->()")]
    op_names = {1: wide, 2: narrow, 3: [*narrow, "more"], 4: [*wide, "more"]}
    assert {(1, 4, RESHAPED, False), (2, 3, RESHAPED, False)} == joined(before, after, op_names)


def test_the_first_step_of_an_optimizer_is_not_the_second_one_of_a_smaller_model():
    """All graphs of PyTorch/XLA have one name, and no op_names by default: parameters and outputs tell them apart."""

    def step(parameters: int, outputs: int) -> str:
        return f"({', '.join(['f32[8]'] * parameters)})->({', '.join(['f32[8]'] * outputs)})"

    before = [dump(1, "SyncTensorsGraph", step(4, 12)), dump(2, "SyncTensorsGraph", step(12, 12))]
    after = [dump(3, "SyncTensorsGraph", step(6, 18)), dump(4, "SyncTensorsGraph", step(18, 18))]
    assert {(1, 3), (2, 4)} == {one[:2] for one in joined(before, after)}


def test_a_pairing_that_is_a_guess_says_so():
    """Two partners that are as good, or one that has little in common; nothing is known without op_names."""
    before = [dump(1, "jit_f", "(f32[1])->()")]
    after = [dump(3, "jit_f", "(f32[3])->()"), dump(4, "jit_f", "(f32[4])->()")]
    same = {key: ["jit(f)/add", "x"] for key in (1, 3, 4)}
    found = joined(before, after, same)
    assert [(RESHAPED, True), (None, False)] == sorted((one[2:] for one in found), key=str)
    assert {(1, 3, RESHAPED, True)} == joined(before, after[:1], {1: ["jit(f)/add"], 3: ["jit(f)/fft", "y", "z"]})
    assert {(1, 3, RESHAPED, True)} == joined(before, after[:1])


def test_a_program_under_another_name_is_not_lost():
    """The same content, or the same signature and nearly all op_names, of which only the traced name differs."""
    assert {(1, 1, RENAMED, False)} == joined([dump(1, "jit_f")], [dump(1, "jit_g")])
    parts = ["dot", "add", "mul", "reduce_sum"]
    op_names = {1: [f"jit(f)/{part}" for part in parts], 2: [f"jit(g)/{part}" for part in parts]}
    assert {(1, 2, RENAMED, False)} == joined([dump(1, "jit_f")], [dump(2, "jit_g")], op_names)
    op_names[2] = ["jit(g)/fft", *op_names[2][:2]]
    apart = {(1, None, None, False), (None, 2, None, False)}
    assert apart == joined([dump(1, "jit_f")], [dump(2, "jit_g")], op_names)
    assert apart == joined([dump(1, "jit_f")], [dump(2, "jit_g")])


def test_programs_of_equal_content_are_renamed_with_a_mark():
    """Of two small programs with one content nobody can say which became which."""
    found = join(pair_up([dump(1, "jit_a"), dump(1, "jit_b")], [dump(1, "jit_c"), dump(1, "jit_d")], {}), lambda _: {})
    assert [(RENAMED, True)] * 2 == [(one.change, one.is_ambiguous) for one in found]
    assert ["jit_a", "jit_b"] == sorted(one.before.program_name for one in found)
    assert ["jit_c", "jit_d"] == sorted(one.after.program_name for one in found)


def test_growth_is_not_hidden_behind_a_new_name_of_equal_content():
    """A function that grew keeps its history, though another function now has its former content."""
    before = [dump(1, "jit_a")]
    after = [dump(2, "jit_a", BATCH_64), dump(1, "jit_b")]
    op_names = {key: ["x", "y"] for key in (1, 2)}
    assert {(1, 2, RESHAPED, False), (None, 1, None, False)} == joined(before, after, op_names)


def test_modules_without_a_name_are_no_function():
    """Nothing says that two of them belong together."""
    before, after = [dump(1, "(unnamed)")], [dump(2, "(unnamed)", BATCH_64)]
    assert {(1, None, None, False), (None, 2, None, False)} == joined(before, after, {key: ["x"] for key in (1, 2)})
