"""`%load_ext oomph`: under a cell that runs out of memory appears why, and `%oomph` asks for more."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from oomph import _peak
from oomph._errors import is_out_of_memory
from oomph._magic import Magic
from oomph._recorder.clock import now
from oomph._recorder.exceptions import chain

if TYPE_CHECKING:
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
        self._magic = Magic(self)

    def load(self) -> None:
        """Adds it to the shell."""
        self.shell.events.register("pre_run_cell", self._before)
        self.shell.events.register("post_run_cell", self._after)
        from IPython.core import magic

        # A semicolon at the end of a cell hides its value under `%%oomph` too, where IPython can do that.
        getattr(magic, "output_can_be_silenced", lambda function: function)(Magic.run)
        self.shell.register_magic_function(self._magic.run, magic_kind="line_cell", magic_name="oomph")

    def unload(self) -> None:
        """Removes it from the shell."""
        self.shell.events.unregister("pre_run_cell", self._before)
        self.shell.events.unregister("post_run_cell", self._after)
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("oomph", None)

    def _before(self, info: Any) -> None:
        self._start = now()
        self._noted = None

    def note_failure(self) -> None:
        """Takes the verdict on a failure of the cell under way from the record, while there is one."""
        self._noted = self._recorded_explanation()

    def _after(self, result: Any) -> None:
        """Shows the card under a cell that ran out of memory. IPython has shown the traceback by then. Nothing of the
        error outlives this call but text: its frames hold the tensors that filled the card."""
        error = result.error_in_exec
        if error is None or not is_out_of_memory(error):
            return
        # A failure to explain must not hide the failure itself.
        try:
            self.last = self._explanation(error)
            show(self.last.text, self.last._repr_html_())
        except Exception as trouble:
            print(f"oomph: this error could not be explained: {trouble}", file=sys.stderr)

    def _explanation(self, error: BaseException) -> Explanation:
        from oomph.explain import explain

        return self._noted or self._recorded_explanation() or explain(self._text(error))

    def _recorded_explanation(self) -> Explanation | None:
        """The verdict on a failure of this cell by PyTorch's record of it, if there is one."""
        torch = sys.modules.get("torch")
        if torch is None or not _peak.is_recording(torch):
            return None
        snapshot = torch.cuda.memory._snapshot()
        cell = _peak.since(snapshot, self._start)["device_traces"]
        if not any(event["action"] == "oom" for trace in cell for event in trace):
            return None
        return _peak.explain_record(self.with_cell_names(snapshot))

    def _text(self, error: BaseException) -> str:
        """The traceback as Python prints it, with cells called as the notebook calls them."""
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        files = {frame.f_code.co_filename for link in chain(error) for frame, _ in traceback.walk_tb(link.__traceback__)}
        for file in files:
            text = text.replace(f'File "{file}"', f'File "{self.cell_name(file)}"')
        return text

    def cell_name(self, file: str) -> str:
        """`In[3]` for the file that IPython makes of the third cell; any other file as it is."""
        known = getattr(self.shell.compile, "format_code_name", lambda name: None)(file)
        return known[1] if known else file

    def with_cell_names(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        """A record whose stacks call cells as the notebook does."""
        names: dict[str, str] = {}
        seen: set[int] = set()
        blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
        for holder in [*blocks, *(event for trace in snapshot["device_traces"] for event in trace)]:
            for frame in holder.get("frames") or ():
                if id(frame) not in seen:
                    seen.add(id(frame))
                    file = frame["filename"]
                    frame["filename"] = names.setdefault(file, self.cell_name(file))
        return snapshot


def show(text: str, page: str) -> None:
    """Shows a fragment of HTML, or the text where none can be shown."""
    from IPython.display import display

    display({"text/plain": text, "text/html": page}, raw=True)


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
