// One view: its boxes and arrows, what hangs together, and what is marked. A box shows a node, which other views show too.
/** The nodes that a box shows, the one that its words are about first; a result shows none. */
const nodesIn = (id, { node, also = [] }) => (node === undefined || id[0] === "r" ? [] : [node, ...spread(also)]);
const viewOf = (told, svg, page) => {
  const boxes = new Map(Object.keys(told.boxes).map((id) => [id, svg.getElementById(id)]));
  const arrows = told.arrows.map((ends, i) => ({ tail: ends[0], head: ends[1], element: svg.getElementById("e" + i), still: false }));
  for (const number of told.still) arrows[number].still = true;
  const ahead = new Map(), behind = new Map(), boxesOf = new Map();
  for (const id of boxes.keys()) { ahead.set(id, []); behind.set(id, []); }
  for (const arrow of arrows) { ahead.get(arrow.tail).push(arrow); behind.get(arrow.head).push(arrow); }
  const known = (id, its) => { for (const node of nodesIn(id, its)) (boxesOf.get(node) || boxesOf.set(node, []).get(node)).push(id); };
  for (const [id, its] of Object.entries(told.boxes)) known(id, its);
  const modules = modulesOf(told, svg);
  for (const arrow of arrows) arrow.parts = [arrow.element, modules.labels.get(arrow.element.id)].filter(Boolean);
  const view = { told, svg, boxes, arrows, ahead, behind, boxesOf, modules, step: 0, from: null, past: [] };
  view.state = () => ({ closed: modules.state(), open: view.folds.state() });
  view.restore = async ({ closed, open }) => { modules.restore(closed); await view.folds.restore(open); };
  /** Close what is innermost; says whether there was anything. */
  view.closeInner = () => view.folds.closeInner() || modules.all(true);

  view.clear = (...names) => {
    for (const name of names) for (const element of [...svg.getElementsByClassName(name)]) element.classList.remove(name);
  };
  /** What is seen of a box: itself, or the closed module that hides it. */
  view.seenOf = (id) => { const top = modules.topOf(id); return top ? top.shut : boxes.get(id); };
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
  /** A closed module looks as what is in it: lit if some of that is, still to come if all is; an opened box as when it was closed. */
  view.mark = () => {
    view.folds.mark(["now", "ran", "later"]);
    for (const { shut, top, boxes: inside, id } of modules.frames) {
      if (!top || top.id !== id) continue;
      for (const name of ["lit", "linked", "found", "now", "ran", "later", "chosen", "differs", "parted"]) {
        const has = (box) => boxes.get(box).classList.contains(name);
        shut.classList.toggle(name, name === "later" ? inside.every(has) : inside.some(has));
      }
    }
  };
  /** Light these boxes, all that hangs together with them, and the boxes that are linked; says how many there are. */
  /** All nodes that a box or a closed module stands for. */
  view.nodesOf = (id) => view.folds.has(id) ? spread(view.folds.nodesOf(id)) : [...new Set((modules.frameOf.has(id) ? modules.frameOf.get(id).boxes : [id]).flatMap((box) => nodesIn(box, told.boxes[box])))];
  view.light = (from, linked) => {
    view.clear("lit", "chosen", "linked");
    svg.classList.toggle("picked", from.length + linked.length > 0);
    const lit = new Set(), after = walk(from, ahead, "head", lit), before = walk(from, behind, "tail", lit);
    for (const other of [...after, ...before]) lit.add(boxes.get(other));
    for (const other of linked) { lit.add(boxes.get(other)); boxes.get(other).classList.add("linked"); }
    for (const element of lit) element.classList.add("lit");
    for (const id of from) boxes.get(id).classList.add("chosen");
    view.mark();
    return { above: before.size - from.length, below: after.size - from.length };
  };
  view.find = (nodes) => {
    view.clear("found");
    for (const node of nodes) for (const id of boxesOf.get(node) || []) boxes.get(id).classList.add("found");
    view.mark();
  };
  view.arrange = () => { const size = view.folds.size ? view.folds.arrange() : modules.arrange(); view.mark(); return size; };

  const pointed = (element, id) => {
    element.addEventListener("pointerenter", () => page.point(id));
    element.addEventListener("pointerleave", () => page.point(null));
    element.addEventListener("focus", () => { if (element.matches(":focus-visible")) page.camera.keep(element); page.point(id); });
  };
  const enlist = (id, element) => {
    element.classList.add("box");
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", told.boxes[id].title);
    pointed(element, id);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (view.folds.has(id)) page.toggleFold(id); else page.chooseBox(id);
    });
    if (view.folds.has(id)) { element.classList.add("fold"); element.addEventListener("dblclick", () => page.toggleFold(id)); }
  };
  /** What a fold has in it belongs to the view from when it is first opened; stubs stand for boxes outside. */
  const added = (level) => {
    for (const [id, { element, told: its }] of level.boxes) {
      boxes.set(id, element);
      told.boxes[id] = its;
      ahead.set(id, []); behind.set(id, []);
      known(id, its);
      enlist(id, element);
    }
    const join = (arrow) => { ahead.get(arrow.tail).push(arrow); behind.get(arrow.head).push(arrow); };
    for (const { tail, head, element, label } of level.arrows) {
      const arrow = { tail: tail.id, head: head.id, element, still: false, parts: label ? [element, label] : [element] };
      arrows.push(arrow);
      join(arrow);
    }
  };
  view.folds = foldsOf(told, svg, added, (id) => page.toggleFold(id));
  for (const [id, element] of boxes) enlist(id, element);
  for (const module of modules.frames) {
    pointed(module.shut, module.id);
    module.element.addEventListener("pointerenter", () => page.point(module.id));
    module.element.addEventListener("pointerleave", () => page.point(null));
    for (const element of [module.sign, module.text]) element.addEventListener("click", () => { if (page.camera.moved <= 6) page.toggle(module); });
    module.shut.addEventListener("dblclick", () => page.toggle(module));
    for (const element of [module.sign, module.shut]) {
      element.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); page.toggle(module); } });
    }
  }
  return view;
};
