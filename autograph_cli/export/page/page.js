(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const frame = get("picture"), svg = frame.querySelector("svg");
  const boxes = new Map(Object.keys(data.boxes).map((id) => [id, get(id)]));
  const arrows = data.arrows.map((ends, i) => ({ tail: ends[0], head: ends[1], element: get("e" + i), still: false }));
  for (const number of data.still) arrows[number].still = true;
  const ahead = new Map(), behind = new Map();
  for (const id of boxes.keys()) { ahead.set(id, []); behind.set(id, []); }
  for (const arrow of arrows) { ahead.get(arrow.tail).push(arrow); behind.get(arrow.head).push(arrow); }
  const modules = modulesOf(data, svg);
  for (const arrow of arrows) arrow.parts = [arrow.element, modules.labels.get(arrow.element.id)].filter(Boolean);
  const clear = (...names) => {
    for (const name of names) for (const element of [...svg.getElementsByClassName(name)]) element.classList.remove(name);
  };
  /** What is seen of a box: itself, or the closed module that hides it. */
  const seenOf = (id) => { const top = modules.topOf(id); return top ? top.shut : boxes.get(id); };

  // ---------------------------------------------------------------- pan and zoom

  const eye = { x: 0, y: 0, scale: 1 };
  let full = { w: 1, h: 1 };
  let idle = 0, sharp = 1;
  const rest = () => {
    sharp = eye.scale;
    svg.classList.remove("moving");
    svg.classList.toggle("far", eye.scale < 0.25);
  };
  /** The picture is drawn once and moved as a whole; it is drawn anew when it comes to rest, or is of another size. */
  const show = () => {
    svg.style.transform = `translate(${-eye.x * eye.scale}px,${-eye.y * eye.scale}px) scale(${eye.scale})`;
    clearTimeout(idle);
    if (eye.scale < sharp / 3 || eye.scale > sharp * 6) return rest();
    svg.classList.add("moving");
    idle = setTimeout(rest, 150);
  };
  const place = (event) => { const at = frame.getBoundingClientRect(); return [eye.x + (event.clientX - at.left) / eye.scale, eye.y + (event.clientY - at.top) / eye.scale]; };
  const whole = () => Math.min(frame.clientWidth / full.w, frame.clientHeight / full.h, 3);
  const look = (x, y, scale) => {
    Object.assign(eye, { scale, x: x - frame.clientWidth / scale / 2, y: y - frame.clientHeight / scale / 2 });
    show();
  };
  const fit = () => look(full.w / 2, full.h / 2, whole());
  const zoom = (factor, x = eye.x + frame.clientWidth / eye.scale / 2, y = eye.y + frame.clientHeight / eye.scale / 2) => {
    const scale = Math.min(Math.max(eye.scale * factor, whole() / 2), 8), to = scale / eye.scale;
    Object.assign(eye, { scale, x: x - (x - eye.x) / to, y: y - (y - eye.y) / to });
    show();
  };
  const move = (dx, dy) => { eye.x += dx / eye.scale; eye.y += dy / eye.scale; show(); };
  const goTo = (id) => {
    if (modules.reveal(id)) arrange();
    const box = boxes.get(id).getBoundingClientRect(), [x, y] = place({ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 });
    look(x, y, Math.max(eye.scale, 1));
  };
  /** Move as little as it takes to see an element. */
  const keep = (element) => {
    const at = element.getBoundingClientRect(), around = frame.getBoundingClientRect();
    const over = (low, high, from, to) => (low < from ? low - from - 40 : high > to ? high - to + 40 : 0);
    const dx = over(at.left, at.right, around.left, around.right), dy = over(at.top, at.bottom, around.top, around.bottom);
    if (dx || dy) move(dx, dy);
  };
  /** All of it if that can be read; else its upper end. */
  const start = () => {
    const scale = Math.max(whole(), Math.min(frame.clientWidth / full.w, 0.9), 0.5);
    if (scale <= whole()) return fit();
    const first = Object.values(data.boxes).reduce((a, b) => (b.at[1] < a.at[1] ? b : a)).at[0];
    const half = frame.clientWidth / scale / 2, beside = Math.min(Math.max(first, half), full.w - half);
    look(half * 2 >= full.w ? full.w / 2 : beside, frame.clientHeight / scale / 2, scale);
  };
  addEventListener("resize", show);

  const fingers = new Map();
  let moved = 0, pinch = 0;
  const span = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
  }, { passive: false });
  frame.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    moved = 0;
    pinch = fingers.size === 2 ? span() : 0;
  });
  addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const now = span();
      if (pinch) zoom(now / pinch, ...place(event));
      pinch = now;
      moved = 9;
      return;
    }
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    move(-dx, -dy);
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => fingers.delete(event.pointerId));

  // ---------------------------------------------------------------- details, and what hangs together

  const told = (id) => data.boxes[id] || data.frames[id];
  const tell = (id) => {
    get("name").textContent = id ? told(id).title : data.title || document.title;
    get("text").textContent = id ? told(id).text : data.about + (matchMedia("(max-width: 700px)").matches ? "" : "\n\n" + data.keys);
  };
  const walk = (from, near, end, lit) => {
    const met = new Set(from), waiting = [...from];
    while (waiting.length) {
      for (const arrow of near.get(waiting.pop())) {
        for (const part of arrow.parts) lit.add(part);
        if (!met.has(arrow[end])) { met.add(arrow[end]); waiting.push(arrow[end]); }
      }
    }
    return met;
  };
  /** A closed module looks as what is in it: lit if some of that is, still to come if all is. */
  const mark = () => {
    for (const { shut, top, boxes: inside, id } of modules.frames) {
      if (!top || top.id !== id) continue;
      for (const name of ["lit", "linked", "found", "now", "ran", "later"]) {
        const has = (box) => boxes.get(box).classList.contains(name);
        shut.classList.toggle(name, name === "later" ? inside.every(has) : inside.some(has));
      }
      shut.classList.toggle("chosen", chosen === id);
    }
  };
  let chosen = null;
  const choose = (id) => {
    clear("lit", "chosen", "linked");
    chosen = id;
    svg.classList.toggle("picked", id !== null);
    tell(id);
    const module = modules.frameOf.get(id);
    get("toggle").hidden = !module;
    get("toggle").textContent = "Open the module";
    get("look").hidden = !(id in data.insides);
    get("hangs").textContent = "";
    if (id !== null) {
      const from = module ? module.boxes : [id], lit = new Set();
      const after = walk(from, ahead, "head", lit), before = walk(from, behind, "tail", lit);
      for (const other of [...after, ...before]) lit.add(boxes.get(other));
      const linked = new Set(from.flatMap((box) => data.links[box] || []).filter((box) => !from.includes(box)));
      for (const other of linked) { lit.add(boxes.get(other)); boxes.get(other).classList.add("linked"); }
      for (const element of lit) element.classList.add("lit");
      if (!module) boxes.get(id).classList.add("chosen");
      get("hangs").textContent = `${before.size - from.length} above, ${after.size - from.length} below` + (linked.size ? `, ${linked.size} linked in other orders` : "");
    }
    mark();
  };
  const name = (element, id) => {
    element.addEventListener("pointerenter", () => { if (chosen === null) tell(id); });
    element.addEventListener("pointerleave", () => { if (chosen === null) tell(null); });
    element.addEventListener("focus", () => { if (element.matches(":focus-visible")) keep(element); if (chosen === null) tell(id); });
  };
  for (const [id, element] of boxes) {
    element.classList.add("box");
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", data.boxes[id].title);
    name(element, id);
    element.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(chosen === id ? null : id); });
  }
  frame.addEventListener("click", (event) => {
    if (moved > 6 || event.target.closest(".sign, .module > text")) return;
    const box = event.target.closest(".box"), id = box && box.id.replace("shut_", "");
    choose(box && id !== chosen ? id : null);
  });
  frame.addEventListener("scroll", () => frame.scrollTo(0, 0));

  // ---------------------------------------------------------------- modules

  const arrange = () => {
    full = modules.arrange();
    svg.setAttribute("viewBox", `0 0 ${full.w} ${full.h}`);
    svg.style.width = full.w + "px";
    svg.style.height = full.h + "px";
    mark();
  };
  const toggle = (module) => {
    const of = () => (module.closed ? module.shut : module.element).getBoundingClientRect();
    const before = of();
    module.closed = !module.closed;
    choose(null);
    arrange();
    const after = of();
    move((after.left + after.right - before.left - before.right) / 2, after.top - before.top);
    (module.closed ? module.shut : module.sign).focus({ preventScroll: true });
  };
  for (const module of modules.frames) {
    name(module.shut, module.id);
    module.element.addEventListener("pointerenter", () => { if (chosen === null) tell(module.id); });
    module.element.addEventListener("pointerleave", () => { if (chosen === null) tell(null); });
    for (const element of [module.sign, module.text]) element.addEventListener("click", () => { if (moved <= 6) toggle(module); });
    module.shut.addEventListener("dblclick", () => toggle(module));
    for (const element of [module.sign, module.shut]) {
      element.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); toggle(module); } });
    }
  }
  const level = (close) => {
    if (!modules.frames.length) return;
    modules.all(close);
    choose(null);
    arrange();
    start();
  };
  for (const id of ["close", "open"]) { get(id).hidden = !modules.frames.length; get(id).addEventListener("click", () => level(id === "close")); }
  get("toggle").addEventListener("click", () => toggle(modules.frameOf.get(chosen)));

  // ---------------------------------------------------------------- inside a backward

  const inside = get("inside"), pictures = document.querySelectorAll("template");
  const open = () => {
    if (!(chosen in data.insides)) return;
    const picture = pictures[data.insides[chosen]].content.cloneNode(true);
    for (const element of picture.querySelectorAll("[id]")) element.removeAttribute("id");
    get("ran").replaceChildren(picture);
    inside.showModal();
  };
  get("look").addEventListener("click", open);
  get("back").addEventListener("click", () => inside.close());

  // ---------------------------------------------------------------- search

  let found = [], at = -1;
  const search = get("search"), hits = get("hits");
  const seek = () => {
    const words = search.value.trim().toLowerCase();
    clear("found");
    found = words ? [...boxes.keys()].filter((id) => (data.boxes[id].title + "\n" + data.boxes[id].text).toLowerCase().includes(words)) : [];
    for (const id of found) boxes.get(id).classList.add("found");
    at = -1;
    hits.textContent = words ? String(found.length) : "";
    mark();
  };
  const next = (step) => {
    if (!found.length) return;
    at = (at + step + found.length) % found.length;
    hits.textContent = `${at + 1}/${found.length}`;
    goTo(found[at]);
    tell(found[at]);
  };
  search.addEventListener("input", seek);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { search.value = ""; seek(); search.blur(); }
  });

  // ---------------------------------------------------------------- in order of execution

  const slider = get("slider"), label = get("step"), steps = data.steps;
  let timer = 0;
  /** What flows in a step: data to what is made; gradients from what runs, or in a picture of data to what it was made from. */
  const flowing = ([, , runs, its]) => {
    for (const id of its) {
      for (const arrow of (data.data ? behind : ahead).get(id)) {
        if (runs && arrow.still) continue;
        const against = Boolean(runs) === Boolean(data.data);
        arrow.element.classList.add(runs ? "gradient" : "flow");
        arrow.element.classList.toggle("against", against);
      }
    }
  };
  const run = () => {
    const to = Number(slider.value), off = to === 0;
    clear("now", "ran", "flow", "gradient", "against");
    for (const [id, element] of boxes) element.classList.toggle("later", !off && data.when[id] > to);
    for (const arrow of arrows) {
      const later = !off && Math.max(data.when[arrow.tail], data.when[arrow.head]) > to;
      for (const part of arrow.parts) part.classList.toggle("later", later);
    }
    label.textContent = "";
    if (!off) {
      const [phase, title, runs, its] = steps[to - 1], pass = data.phases[phase].replace(" makes", "");
      for (let i = to - 1; i >= 0 && data.phases[steps[i][0]].replace(" makes", "") === pass; i -= 1) {
        if (steps[i][2]) for (const id of steps[i][3]) boxes.get(id).classList.add("ran");
      }
      for (const id of its) boxes.get(id).classList.add("now");
      flowing(steps[to - 1]);
      keep(seenOf(its[0]));
      label.textContent = `${to}/${steps.length} ${data.phases[phase]}: ${title}`;
    }
    mark();
  };
  const step = (by) => { slider.value = Number(slider.value) + by; run(); };
  const halt = () => { clearInterval(timer); timer = 0; get("play").textContent = "▶"; };
  const play = () => {
    if (timer) return halt();
    if (Number(slider.value) === steps.length) slider.value = 0;
    get("play").textContent = "⏸";
    timer = setInterval(() => {
      step(1);
      if (Number(slider.value) === steps.length) halt();
    }, Math.max(60, Math.min(400, 60000 / steps.length)));
  };
  slider.max = steps.length;
  slider.addEventListener("input", () => { halt(); run(); });
  get("play").addEventListener("click", play);

  // ---------------------------------------------------------------- buttons and keys

  get("fit").addEventListener("click", fit);
  get("in").addEventListener("click", () => zoom(1.3));
  get("out").addEventListener("click", () => zoom(1 / 1.3));
  get("dark").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    root.classList.toggle("dark", !dark);
    root.classList.toggle("light", dark);
  });
  const keys = {
    "/": () => search.focus(), "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), "0": fit, " ": play,
    ArrowLeft: () => move(-60, 0), ArrowRight: () => move(60, 0), ArrowUp: () => move(0, -60), ArrowDown: () => move(0, 60),
    n: () => next(1), p: () => next(-1), ",": () => { halt(); step(-1); }, ".": () => { halt(); step(1); },
    "[": () => level(true), "]": () => level(false), i: open, Escape: () => choose(null),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || inside.open || event.target.matches("input, button")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  arrange();
  start();
  tell(null);
})();
