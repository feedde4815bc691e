"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const frame = get("picture"), svg = frame.querySelector("svg");
  const boxes = new Map(Object.keys(data.boxes).map((id) => [id, get(id)]));
  const arrows = data.arrows.map((ends, i) => ({ tail: ends[0], head: ends[1], element: get("e" + i) }));
  const ahead = new Map(), behind = new Map();
  for (const id of boxes.keys()) { ahead.set(id, []); behind.set(id, []); }
  for (const arrow of arrows) { ahead.get(arrow.tail).push(arrow); behind.get(arrow.head).push(arrow); }

  // ---------------------------------------------------------------- pan and zoom

  const whole = svg.viewBox.baseVal, full = { x: whole.x, y: whole.y, w: whole.width, h: whole.height };
  let view = { ...full };
  const show = () => svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" "));
  const scale = () => Math.min(frame.clientWidth / view.w, frame.clientHeight / view.h);
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const fit = () => { view = { ...full }; show(); };
  const zoom = (factor, x = view.x + view.w / 2, y = view.y + view.h / 2) => {
    const to = Math.min(Math.max(scale() * factor, 0.002), 8) / scale();
    view = { x: x - (x - view.x) / to, y: y - (y - view.y) / to, w: view.w / to, h: view.h / to };
    show();
  };
  const move = (dx, dy) => { view.x += dx; view.y += dy; show(); };
  const goTo = (id) => {
    const box = boxes.get(id).getBBox(), size = Math.min(scale() < 0.6 ? 1 / scale() : 1, 50);
    view.w /= size; view.h /= size;
    view.x = box.x + box.width / 2 - view.w / 2; view.y = box.y + box.height / 2 - view.h / 2;
    show();
  };

  const fingers = new Map();
  let moved = 0, pinch = 0;
  const span = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event);
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), at.x, at.y);
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
      const at = place(event), now = span();
      if (pinch) zoom(now / pinch, at.x, at.y);
      pinch = now;
      moved = 9;
      return;
    }
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    move(-dx / scale(), -dy / scale());
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => fingers.delete(event.pointerId));

  // ---------------------------------------------------------------- details, and what hangs together

  const tell = (id) => {
    get("name").textContent = id ? data.boxes[id].title : data.title;
    get("text").textContent = id ? data.boxes[id].text : data.about;
  };
  const walk = (start, near, end, lit) => {
    const met = new Set([start]), waiting = [start];
    while (waiting.length) {
      for (const arrow of near.get(waiting.pop())) {
        lit.add(arrow.element);
        if (!met.has(arrow[end])) { met.add(arrow[end]); waiting.push(arrow[end]); }
      }
    }
    return met;
  };
  let chosen = null;
  const choose = (id) => {
    for (const element of svg.querySelectorAll(".lit, .chosen, .linked")) element.classList.remove("lit", "chosen", "linked");
    chosen = id;
    svg.classList.toggle("picked", id !== null);
    tell(id);
    if (id === null) { get("hangs").textContent = ""; return; }
    const lit = new Set();
    const after = walk(id, ahead, "head", lit), before = walk(id, behind, "tail", lit);
    for (const other of [...after, ...before]) lit.add(boxes.get(other));
    for (const other of data.links[id] || []) { lit.add(boxes.get(other)); boxes.get(other).classList.add("linked"); }
    for (const element of lit) element.classList.add("lit");
    boxes.get(id).classList.add("chosen");
    const links = (data.links[id] || []).length;
    get("hangs").textContent = `${before.size - 1} above, ${after.size - 1} below` + (links ? `, ${links} linked in other orders` : "");
  };
  for (const [id, element] of boxes) {
    element.classList.add("box");
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", data.boxes[id].title);
    element.addEventListener("pointerenter", () => { if (chosen === null) tell(id); });
    element.addEventListener("pointerleave", () => { if (chosen === null) tell(null); });
    element.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(chosen === id ? null : id); });
  }
  frame.addEventListener("click", (event) => {
    if (moved > 6) return;
    const box = event.target.closest(".box");
    choose(box && box.id !== chosen ? box.id : null);
  });

  // ---------------------------------------------------------------- search

  let found = [], at = -1;
  const search = get("search"), hits = get("hits");
  const seek = () => {
    const words = search.value.trim().toLowerCase();
    for (const id of found) boxes.get(id).classList.remove("found");
    found = words ? [...boxes.keys()].filter((id) => (data.boxes[id].title + "\n" + data.boxes[id].text).toLowerCase().includes(words)) : [];
    for (const id of found) boxes.get(id).classList.add("found");
    at = -1;
    hits.textContent = words ? String(found.length) : "";
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

  const slider = get("slider"), step = get("step");
  let timer = 0;
  const run = () => {
    const to = Number(slider.value), off = to === 0;
    for (const [id, element] of boxes) {
      element.classList.toggle("later", !off && data.when[id] > to);
      element.classList.toggle("now", !off && data.when[id] === to);
    }
    for (const arrow of arrows) arrow.element.classList.toggle("later", !off && Math.max(data.when[arrow.tail], data.when[arrow.head]) > to);
    step.textContent = off ? "" : `${to}/${data.steps.length} ${data.steps[to - 1]}`;
  };
  const halt = () => { clearInterval(timer); timer = 0; get("play").textContent = "▶"; };
  const play = () => {
    if (timer) return halt();
    if (Number(slider.value) === data.steps.length) slider.value = 0;
    get("play").textContent = "⏸";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      run();
      if (Number(slider.value) === data.steps.length) halt();
    }, 350);
  };
  slider.max = data.steps.length;
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
    ArrowLeft: () => move(-60 / scale(), 0), ArrowRight: () => move(60 / scale(), 0),
    ArrowUp: () => move(0, -60 / scale()), ArrowDown: () => move(0, 60 / scale()),
    n: () => next(1), p: () => next(-1), Escape: () => choose(null),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, button")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  tell(null);
})();
