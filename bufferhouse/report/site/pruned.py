"""Pages at addresses of former pages: of a run that was removed or renamed, or whose place in the order changed."""

from collections.abc import Iterator, Sequence

from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.manifest import GONE, Manifest, code, fingerprint

_PLACES = {"runs": "Runs", "programs": "Programs", "compare": "Comparisons", "triage": "Triage"}
_REMOVED = "It was removed, or has another name now."
_WHAT = {
    "runs": f"This run is no longer in the warehouse. {_REMOVED}",
    "programs": "Another page shows this program now, or the run of this page is no longer in the warehouse: removed, "
    "or under another name.",
    "compare": f"One of these runs is no longer in the warehouse. {_REMOVED}",
    "triage": "Another page of triage has these steps now, or their runs are no longer in the warehouse: removed, or "
    "under other names.",
}


class Pruned:
    """Replacements of pages that a site no longer has: their addresses stay, and so do the figures beside them."""

    def __init__(self, shared: Shared, manifest: Manifest, wanted: set[str]) -> None:
        self._shared = shared
        shown = fingerprint(GONE, code())
        self.wanted = {
            address: shown
            for address in manifest.pages
            if address not in wanted and address.partition("/")[0] in _PLACES
        }

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages."""
        for address in addresses:
            folder = address.partition("/")[0]
            above = f"{folder}/index.html"
            frame = Frame(address, _PLACES[folder], self._shared, [(_PLACES[folder], above)])
            text = page(
                "site_pruned.html",
                "No longer here",
                {},
                frame=frame,
                said=_WHAT[folder],
                address=address.rpartition("/")[2].removesuffix(".html"),
                links=[(_PLACES[folder], above), ("Fleet", "index.html")],
            )
            yield Made(address, text)
