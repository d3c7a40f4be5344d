"""raw.compile_flags: one option of a compilation, from the files that XLA writes beside a dump."""

from schemas.contract import TEXT, Column, Contract, natural

COMPILE_FLAGS = Contract(
    "compile_flags",
    "Options of compilations as the files beside dumps tell them (xla/service/dump.cc, libtpu); equal files once.",
    grain="one option of a file",
    key=["compile_flags_id", "origin", "flag_name"],
    columns={
        "compile_flags_id": natural(
            "The options of a file: first 63 bits of the SHA-256 of all that is stored of them."
        ),
        "origin": Column(TEXT, "Kind of the file: debug_options, tpu_comp_env, module_config or flagfile."),
        "flag_name": Column(TEXT, "Name of the option; parts of a nested one are joined by dots."),
        "flag_value": Column(TEXT, "Its value as printed, without quotes; those of a repeated one joined by commas."),
    },
)
