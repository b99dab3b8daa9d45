"""How numba compiles kernels: its own pipeline, without work whose result is not used.

Numba optimises each function that a kernel calls on its own, at each level of the calls, and makes machine code of it.
It also compares all flags of a function again for each operation that it types. Both take a third of the time.
A tenth of the time goes to passes for what no kernel contains, such as closures and `with` blocks.
Before it loads a compiled kernel from disk, it loads all that a compiler needs, which takes longer than the kernels.
This module relies on parts of numba that may change, so that versions with which they were not tried compile as usual.
"""

# Numba has no types for its compiler.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import numba
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.runtime.nrt import rtsys

__all__ = ["KernelCompiler", "PartCompiler", "pipeline_options", "prepare_to_load"]

_TRIED = ("0.68",)  # versions of numba

# Passes for closures, `with`, `literally`, branches on `None`, raised values, and for reports.
_UNUSED_PASSES = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.AnnotateTypes,
    typed_passes.DumpParforDiagnostics,
)
# Passes for expressions whose values are new arrays.
_UNUSED_WITHOUT_ARRAYS = (typed_passes.NopythonRewrites,)
_OF_WRAPPERS = ("no_cpython_wrapper", "no_cfunc_wrapper")  # flags that do not change the machine code of calls


class _Flags(Flags):
    """Flags of one function, which are compared as one text."""

    _text: str | None = None

    def text(self) -> str:
        """All values; they are final when numba first compares them."""
        if self._text is None:
            values = sorted(self.values().items())
            self._text = repr([(name, str(value)) for name, value in values if name not in _OF_WRAPPERS])
        return self._text

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Flags) and self.text() == other.text())

    def __hash__(self) -> int:
        return hash(self.text())


class KernelCompiler(Compiler):
    """Compile a kernel."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, return_type: Any, flags: Any, local_types: Any
    ) -> None:
        super().__init__(typing, target, library, args, return_type, _Flags(flags), local_types)

    def define_pipelines(self) -> Any:
        """Numba's own pipeline, without the passes that kernels do not need."""
        pipelines = super().define_pipelines()
        unused = _UNUSED_PASSES if self.state.flags.nrt else (*_UNUSED_PASSES, *_UNUSED_WITHOUT_ARRAYS)
        for each in pipelines:
            each.passes = [step for step in each.passes if step[0] not in unused]
        return pipelines


class PartCompiler(KernelCompiler):
    """Compile a function that only kernels call."""

    def define_pipelines(self) -> Any:
        """The pipeline of kernels, with another library for its result."""
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """LLVM code of a function that is optimised, and becomes machine code, within the kernels that call it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address, because there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """The object whose `set_env` is called."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Ignored, because there is no machine code that uses an environment."""


def pipeline_options(compiler: type[KernelCompiler]) -> dict[str, Any]:
    """Options of `numba.njit` that choose a compiler, if the version of numba is one with which it was tried."""
    return {"pipeline_class": compiler} if _is_tried() else {}


def prepare_to_load(target_context: Any) -> None:
    """Prepare numba for loading compiled kernels: its memory manager, which they call, and no more if possible."""
    if _is_tried():
        rtsys.initialize(target_context)
    else:
        target_context.refresh()


def _is_tried() -> bool:
    return ".".join(numba.__version__.split(".")[:2]) in _TRIED
