"""Segments in a form: what a part of a store keeps is brought into the form that its readers of today need."""

from __future__ import annotations

from millstream.kernels.partials import Bundle
from millstream.ops.panes.store_form import PaneForm, converted, form_of, marked
from millstream.ops.windowing.base import WindowOperator, as_bundle
from millstream.state.store import Segment


class FormedPart(WindowOperator):
    """A part whose segments all have one form."""

    form: PaneForm
    """What its segments are made of."""

    def opened(self) -> None:
        """Bring segments that were written for other readers into this part's form."""
        if any(form_of(segment) != self.form for segment in self.store.segments):
            self.store.replace([self._converted(segment) for segment in self.store.segments])

    def _converted(self, segment: Segment) -> Segment:
        was = form_of(segment)
        if was is None or was == self.form:
            return segment
        return self._segment(converted(as_bundle(segment), was, self.form, self.partials, self.spec.row_schema))

    def _segment(self, bundle: Bundle) -> Segment:
        return marked(super()._segment(bundle), self.form)
