// What the script did, one step after the other: operations are made, passes run nodes, with their numbers.
const playOf = (page) => {
  const slider = get("slider"), label = get("step");
  let timer = 0, seen = null;
  const TURNED = "http://www.w3.org/2000/svg";
  const marker = () => { // the head of an arrow along which a gradient flows back
    if (get("turned")) return;
    const svg = document.body.appendChild(document.createElementNS(TURNED, "svg"));
    svg.setAttribute("class", "defs");
    svg.setAttribute("aria-hidden", "true");
    shape("path", shape("marker", svg, { id: "turned", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }), { d: "M0,0.8L8,4L0,7.2z", fill: "#d55e00" });
  };
  /** What flows in a step: data to what is made; gradients from what runs, or in a picture of data to what it was made from. */
  const flowing = (view, [, , runs, its]) => {
    for (const id of its) {
      for (const arrow of (view.told.data ? view.behind : view.ahead).get(id)) {
        if (runs && arrow.still) continue;
        arrow.element.classList.add(runs ? "gradient" : "flow");
        arrow.element.classList.toggle("against", Boolean(runs) === Boolean(view.told.data));
      }
    }
  };
  /** Whether a pass began with a gradient of 1, as far as that is known. */
  const weightless = ({ told: { steps, boxes } }, phase) => {
    const first = steps.find((step) => step[2] && step[0] === phase), node = page.data.nodes[boxes[first[3][0]].node];
    return !node || !node.gradient || Number(node.gradient.split("\n")[0].replace(/^(grad )?(#0 )?/, "")) === 1;
  };
  /** What a step says: what is made and its value, or the gradient that flows to what a pass runs. */
  const words = (view, [phase, title, runs, its]) => {
    const { node: number } = view.told.boxes[its[0]], node = page.data.nodes[number], told = node && page.details.inLine(number, runs ? "gradient" : "value");
    const last = !runs || view.told.steps.filter((other) => other[2] && other[3][0] === its[0]).pop()[0] === phase; // of several passes it is the last one's
    const is = told && last ? ` = ${told.replace(/-(?=[\d.])/g, "−")}` : "";
    const of = node && runs && weightless(view, phase) ? view.told.of[phase] : "";
    const by = node && ((node.names || [])[0] || (view.told.data ? title : node.title));
    return of ? `∂${of}/∂${/\s/.test(by) ? `(${by})` : by}${is}` : `${title}${is}`;
  };
  const show = () => {
    const view = page.view, { when, steps, phases } = view.told, to = Number(slider.value), off = to === 0;
    view.step = to;
    view.clear("now", "ran", "flow", "gradient", "against");
    for (const [id, element] of view.boxes) element.classList.toggle("later", !off && when[id] > to);
    for (const awaited of [true, false]) { // what is there makes the label clear that it shares
      for (const arrow of view.arrows) {
        const later = !off && Math.max(when[arrow.tail], when[arrow.head]) > to;
        if (later === awaited) for (const part of arrow.parts) part.classList.toggle("later", later);
      }
    }
    label.textContent = "";
    if (off) seen = null;
    else {
      const [phase, , , its] = steps[to - 1], pass = phases[phase].replace(" makes", "");
      for (let i = to - 1; i >= 0 && phases[steps[i][0]].replace(" makes", "") === pass; i -= 1) {
        if (steps[i][2]) for (const id of steps[i][3]) view.boxes.get(id).classList.add("ran");
      }
      for (const id of its) view.boxes.get(id).classList.add("now");
      flowing(view, steps[to - 1]);
      page.camera.keep(view.seenOf(its[0]));
      page.sourceAt(view.told.boxes[its[0]].node);
      label.textContent = `${to}/${steps.length} ${phases[phase]}: ${words(view, steps[to - 1])}`;
      seen = { node: view.told.boxes[its[0]].node, runs: steps[to - 1][2], phase: phases[phase], share: to / steps.length };
      label.title = label.textContent;
    }
    view.mark();
  };
  const halt = () => { clearInterval(timer); timer = 0; get("play").textContent = "▶"; };
  const step = (by) => { halt(); slider.value = Number(slider.value) + by; show(); };
  const toggle = () => {
    if (timer) return halt();
    const last = () => page.view.told.steps.length;
    if (Number(slider.value) === last()) slider.value = 0;
    get("play").textContent = "⏸";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) === last()) halt();
    }, Math.max(60, Math.min(600, 60000 / last())));
  };
  slider.addEventListener("input", () => { halt(); show(); });
  get("play").addEventListener("click", toggle);
  get("back1").addEventListener("click", () => step(-1));
  get("on1").addEventListener("click", () => step(1));
  /** Where in this view that happens which is seen, or what happens as far on. */
  const same = ({ told: { steps, phases, boxes } }) => {
    if (!seen) return 0;
    const alike = ([, , runs, its]) => runs === seen.runs && nodesIn(its[0], boxes[its[0]]).includes(seen.node), at = steps.findIndex((step) => alike(step) && phases[step[0]] === seen.phase);
    return at >= 0 ? at + 1 : (steps.findIndex(alike) + 1) || Math.round(seen.share * steps.length);
  };
  marker();
  return {
    toggle, step, halt,
    at: () => Number(slider.value),
    go: (to) => { halt(); slider.value = to; show(); },
    /** Go on in another view from where it is. */
    film: (view) => { const to = same(view); slider.max = view.told.steps.length; slider.value = to; show(); },
  };
};
