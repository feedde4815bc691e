// The panes on both sides are as wide as the person makes them, with the pointer or with arrows.
const splitters = () => {
  const LEAST = 160;
  for (const [id, side, way] of [["split-left", "side", 1], ["split-right", "told", -1]]) {
    const bar = get(id), pane = get(side);
    const wide = () => Math.round(pane.getBoundingClientRect().width);
    const set = (width) => {
      const room = Math.max(LEAST, Math.min(innerWidth * 0.6, width));
      pane.style.width = `${room}px`;
      bar.setAttribute("aria-valuenow", String(Math.round(room)));
      dispatchEvent(new Event("resize"));
    };
    let from = null;
    bar.addEventListener("pointerdown", (event) => { bar.setPointerCapture(event.pointerId); from = [event.clientX, wide()]; });
    bar.addEventListener("pointermove", (event) => { if (from && bar.hasPointerCapture(event.pointerId)) set(from[1] + way * (event.clientX - from[0])); });
    bar.addEventListener("pointerup", () => { from = null; });
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
      if (by) { event.preventDefault(); event.stopPropagation(); set(wide() + way * by); }
    });
    bar.setAttribute("aria-valuemin", String(LEAST));
    bar.setAttribute("aria-valuemax", String(Math.round(innerWidth * 0.6)));
    bar.setAttribute("aria-valuenow", String(wide()));
  }
};
