"""Pages about what the warehouse no longer holds: a run that was removed, or is called otherwise now."""

from collections.abc import Iterator, Sequence

from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.manifest import GONE, Manifest, code, fingerprint

_PLACES = {"runs": "Runs", "programs": "Programs", "compare": "Comparisons", "triage": "Triage"}
_WHAT = {
    "runs": "This run is no longer in the warehouse.",
    "programs": "The run of this page is no longer in the warehouse.",
    "compare": "One of these runs is no longer in the warehouse.",
    "triage": "The runs of this page are no longer in the warehouse.",
}


class Pruned:
    """The pages that a site had, of what is no longer in the warehouse. Their figures stay beside them."""

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
                "No longer in the warehouse",
                {},
                frame=frame,
                said=_WHAT[folder],
                address=address.rpartition("/")[2].removesuffix(".html"),
                links=[(_PLACES[folder], above), ("Fleet", "index.html")],
            )
            yield Made(address, text)
