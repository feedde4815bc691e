// The place that is seen, as a link holds it: #view=backward&node=12&closed=m1.m2&at=3&eye=10,20,1.5&colour=time&q=relu
const placeOf = (page) => {
  const runs = (numbers) => {
    const found = [];
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const last = found[found.length - 1];
      if (last && last[1] === number - 1) last[1] = number; else found.push([number, number]);
    }
    return found.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(".");
  };
  const numbers = (text) => text.split(".").flatMap((run) => {
    const [from, to = from] = run.split("-").map(Number), { length } = page.data.nodes;
    return from >= 0 && to < length && from <= to ? Array.from({ length: to - from + 1 }, (_, by) => from + by) : [];
  });
  return {
    numbers,
    /** What the address says beside the view and the step of the run. */
    told: (play) => {
      const { view, chosen, camera } = page, parts = [];
      if (chosen.length && chosen.length <= 5000) parts.push(`node=${runs(chosen)}`);
      if (view) {
        const { closed, open } = view.state();
        if (view.past.length && view.modules.frames.length) parts.push(`closed=${closed.join(".")}`);
        if (open.length) parts.push(`opened=${open.join(".")}`);
        if (!camera.home()) parts.push(`eye=${[camera.eye.x, camera.eye.y].map(Math.round)},${Number(camera.eye.scale.toPrecision(3))}`);
      }
      if (play.at()) parts.push(`at=${play.at()}`);
      if (get("colour").value) parts.push(`colour=${get("colour").value}`);
      if (get("search").value) parts.push(`q=${encodeURIComponent(get("search").value)}`);
      return parts;
    },
    /** Go to what an address says of the view that is seen. */
    follow: async (asked, play, zoom) => {
      const { view, camera } = page, ids = (name) => asked.get(name).split(".").filter(Boolean);
      if (view && (asked.has("closed") || asked.has("opened"))) {
        zoom.remember();
        await view.restore({ closed: asked.has("closed") ? ids("closed") : view.state().closed, open: asked.has("opened") ? ids("opened") : [] });
        zoom.settle();
      }
      if (asked.has("q")) { get("search").value = asked.get("q"); get("search").dispatchEvent(new Event("input")); }
      if ([...get("colour").options].some((option) => option.value && option.value === asked.get("colour"))) { get("colour").value = asked.get("colour"); get("colour").dispatchEvent(new Event("change")); }
      if (Number(asked.get("at")) > 0) play.go(Number(asked.get("at")));
      const eye = (asked.get("eye") || "").split(",").map(Number);
      if (view && eye.length === 3 && eye.every(Number.isFinite) && eye[2] > 0) camera.stand({ x: eye[0], y: eye[1], scale: eye[2] });
    },
  };
};
