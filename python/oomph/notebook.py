"""`%load_ext oomph`: PyTorch's allocations are recorded; under a cell that runs out of memory appears why, and `%oomph`
asks for more."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from oomph._cell import MeasuredCell, display_card, with_its_first_line_changed
from oomph._errors import is_out_of_memory
from oomph._magic import Magic
from oomph._recorder.clock import Sparing, now
from oomph.record import join, leave

if TYPE_CHECKING:
    from oomph._recorder.recorder import Recorder
    from oomph.explain import Explanation

# The notebooks that are loaded, by the id of their shell.
_loaded: dict[int, Notebook] = {}


class Notebook:
    """What oomph adds to one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        # The verdict on the last failure.
        self.last: Explanation | None = None
        self._start = now()
        # The verdict on a failure whose record ended before its cell did.
        self._noted: Explanation | None = None
        self._sparing = Sparing()
        self._magic = Magic(self)
        # The shell's description of the cell under way, and what is measured of a cell.
        self._info: Any = None
        self._measured: MeasuredCell | None = None
        self.recorder: Recorder | None = None

    def load(self) -> None:
        """Adds it to the shell, and records from here on."""
        self.shell.events.register("pre_run_cell", self._before)
        self.shell.events.register("post_run_cell", self._after)
        self.shell.input_transformers_cleanup.append(self._rewrite)
        self.shell.register_magic_function(self._magic.run, magic_kind="line_cell", magic_name="oomph")
        self.recorder = join(self)
        self.recorder.on_oom.append(self._at_oom)

    def unload(self) -> None:
        """Removes it from the shell; what it alone wanted to be recorded is recorded no longer."""
        self.shell.events.unregister("pre_run_cell", self._before)
        self.shell.events.unregister("post_run_cell", self._after)
        self.shell.input_transformers_cleanup.remove(self._rewrite)
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("oomph", None)
        if self.recorder is not None:
            self.recorder.on_oom.remove(self._at_oom)
            leave(self)

    def _rewrite(self, lines: list[str]) -> list[str]:
        return with_its_first_line_changed(lines, self.shell.transform_cell)

    def measure_cell(self) -> None:
        """Measures from here to the end of the cell under way."""
        if self._measured is None:
            self._measured = MeasuredCell(self, self._info)

    def _before(self, info: Any) -> None:
        self._info = info
        self._start = now()
        self._noted = None
        self._sparing.forget()

    def _at_oom(self) -> None:
        """Looks who keeps memory while the cell's functions still run. The cell may catch the error and fail again."""
        if self.recorder is not None:
            self._sparing.run(self.recorder.look)

    def every_stack(self) -> AbstractContextManager[None]:
        """A block in which every request is recorded with its lines."""
        return self.recorder.every_stack() if self.recorder is not None else nullcontext()

    def note_failure(self, error: BaseException) -> None:
        """Takes the verdict on a failure of the cell under way from the record, while there is one."""
        self._noted = self._recorded_explanation(error)

    def _after(self, result: Any) -> None:
        """Shows the card under a cell that ran out of memory. IPython has shown the traceback by then. Nothing of the
        error outlives this call but text: its frames hold the tensors that filled the card."""
        error = result.error_in_exec
        if self._measured is not None and self._measured.info is result.info:
            measured, self._measured = self._measured, None
            measured.end(error)
        if error is None or not is_out_of_memory(error):
            return
        # A failure to explain must not hide the failure itself.
        try:
            self.last = self._explanation(error)
            display_card(self.last.screen("%oomph explain"), self.last._repr_html_())
        except Exception as trouble:
            print(f"oomph: this error could not be explained: {trouble}", file=sys.stderr)

    def _explanation(self, error: BaseException) -> Explanation:
        from oomph.explain import explain

        return self._noted or self._recorded_explanation(error) or explain(error)

    def _recorded_explanation(self, error: BaseException) -> Explanation | None:
        """The verdict by the recording, if it shows a failure of this cell."""
        from oomph.explain import Explanation, explain_recorded

        verdict = explain_recorded(error, since=self._start)
        return None if verdict is None else Explanation(verdict)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext oomph` calls."""
    if id(shell) not in _loaded:
        _loaded[id(shell)] = Notebook(shell)
        _loaded[id(shell)].load()


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext oomph` calls."""
    notebook = _loaded.pop(id(shell), None)
    if notebook is not None:
        notebook.unload()
