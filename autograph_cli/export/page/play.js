// What the script did, one step after the other: operations are made, passes run nodes, with their numbers.
const playOf = (page) => {
  const slider = get("slider"), label = get("step");
  let timer = 0;
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
  const numbers = (view, [, , runs, its]) => {
    const node = page.data.nodes[view.told.boxes[its[0]].node], told = node && (runs ? node.gradient : node.value);
    return told ? ` = ${told.replace(/^grad /, "").split("\n").join(" ")}` : "";
  };
  const show = () => {
    const view = page.view, { when, steps, phases } = view.told, to = Number(slider.value), off = to === 0;
    view.step = to;
    view.clear("now", "ran", "flow", "gradient", "against");
    for (const [id, element] of view.boxes) element.classList.toggle("later", !off && when[id] > to);
    for (const arrow of view.arrows) {
      const later = !off && Math.max(when[arrow.tail], when[arrow.head]) > to;
      for (const part of arrow.parts) part.classList.toggle("later", later);
    }
    label.textContent = "";
    if (!off) {
      const [phase, title, , its] = steps[to - 1], pass = phases[phase].replace(" makes", "");
      for (let i = to - 1; i >= 0 && phases[steps[i][0]].replace(" makes", "") === pass; i -= 1) {
        if (steps[i][2]) for (const id of steps[i][3]) view.boxes.get(id).classList.add("ran");
      }
      for (const id of its) view.boxes.get(id).classList.add("now");
      flowing(view, steps[to - 1]);
      page.camera.keep(view.seenOf(its[0]));
      page.sourceAt(view.told.boxes[its[0]].node);
      label.textContent = `${to}/${steps.length} ${phases[phase]}: ${title}${numbers(view, steps[to - 1])}`;
      label.title = label.textContent;
    }
    view.mark();
  };
  const halt = () => { clearInterval(timer); timer = 0; get("play").textContent = "▶"; };
  const step = (by) => { halt(); slider.value = Number(slider.value) + by; show(); };
  const toggle = () => {
    if (timer) return halt();
    const last = page.view.told.steps.length;
    if (Number(slider.value) === last) slider.value = 0;
    get("play").textContent = "⏸";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) === last) halt();
    }, Math.max(60, Math.min(600, 60000 / last)));
  };
  slider.addEventListener("input", () => { halt(); show(); });
  get("play").addEventListener("click", toggle);
  get("back1").addEventListener("click", () => step(-1));
  get("on1").addEventListener("click", () => step(1));
  return { toggle, step, halt, film: (view) => { halt(); slider.max = view.told.steps.length; slider.value = view.step; show(); } };
};
