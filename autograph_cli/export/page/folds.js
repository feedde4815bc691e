// Boxes that open in place, of a graph that is too much at once. What is in one is a picture of its own, which is
// unpacked when it is first opened; the picture around it makes room by growing in the strips that the box stands in.
const foldsOf = (told, svg, added, toggle) => {
  const PAD = 8, HEADING = 22, GROUND = "#F3F3F5";
  const folds = new Map(Object.entries(told.folds).map(([id, [parent, shape, ...nodes]], number) => [id, { id, number, parent, nodes, shape, open: false, inside: null, group: null }]));
  const levels = new Map();
  const holder = new Map();

  const levelOf = (key, root, its, size) => {
    const boxes = new Map(Object.entries(its.boxes).map(([id, box]) => [id, { id, told: box, at: box.at, element: root.querySelector(`[id="${CSS.escape(id)}"]`), fold: folds.get(id) }]));
    const drawn = [...root.querySelectorAll(".arrow")];
    const arrows = its.arrows.map(([tail, head], number) => {
      const element = drawn[number];
      return { tail: boxes.get(tail), head: boxes.get(head), element, polygon: element.querySelector("polygon"), ...curve(element.querySelector("path")) };
    });
    const labels = [...root.querySelectorAll(".label")].map((element, place) => {
      const [x, y, ...labelled] = its.labels[place], at = [x, y];
      for (const number of labelled) arrows[number].label = element;
      return { element, at };
    });
    const rectangles = [...root.querySelectorAll(".band")].map((rect, number) => {
      const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name)));
      return { rect, at: [x, y, x + width, y + height], heading: root.querySelectorAll(".heading")[number] };
    });
    for (const id of boxes.keys()) holder.set(id, key);
    const level = { key, root, boxes, arrows, labels, rectangles, size };
    levels.set(key, level);
    return level;
  };

  /** The strips along one axis that grow to what opened boxes need. */
  const grown = (open, place) => {
    const half = (fold) => fold.box.at[place + 2] / 2, from = (fold) => fold.box.at[place] - half(fold), to = (fold) => fold.box.at[place] + half(fold);
    const ends = [...new Set(open.flatMap((fold) => [from(fold), to(fold)]))].sort((a, b) => a - b), strips = [];
    for (let i = 1; i < ends.length; i += 1) if (open.some((fold) => from(fold) <= ends[i - 1] && to(fold) >= ends[i])) strips.push({ from: ends[i - 1], to: ends[i], length: ends[i] - ends[i - 1] });
    for (const fold of [...open].sort((a, b) => a.needs[place] - b.needs[place])) {
      const own = strips.filter((strip) => strip.from >= from(fold) && strip.to <= to(fold)), width = to(fold) - from(fold);
      const lacks = fold.needs[place] - own.reduce((sum, strip) => sum + strip.length, 0);
      if (lacks > 0) for (const strip of own) strip.length += lacks * (strip.to - strip.from) / width;
    }
    return mapped(strips);
  };
  const bend = (arrow, mx, my) => {
    const { tail, head, at } = arrow, last = at.length - 2;
    const near = (box, x, y) => (box.fold && box.fold.open ? [mx(x), my(y)] : [mx(box.at[0]) + x - box.at[0], my(box.at[1]) + y - box.at[1]]);
    const bent = [];
    for (let i = 0; i < at.length; i += 2) {
      const [x, y] = [at[i], at[i + 1]];
      const [nx, ny] = i === 0 ? near(tail, x, y) : i === last ? near(head, x, y) : [mx(x), my(y)];
      bent.push(nx, ny);
    }
    if (arrow.marks[1] === "C") bent[2] = bent[0];
    if (arrow.marks[arrow.marks.length - 1] === "C") bent[last - 2] = bent[last];
    redraw({ ...arrow, at: bent }, (x) => x, (y) => y);
    move(arrow.polygon, bent[last] - at[last], bent[last + 1] - at[last + 1]);
  };
  const arrange = (level) => {
    const open = [...level.boxes.values()].filter((box) => box.fold && box.fold.open).map((box) => {
      const size = arrange(box.fold.inside);
      return Object.assign(box.fold, { box, needs: [Math.max(size.w, box.fold.wide) + 2 * PAD, size.h + HEADING + PAD], own: size });
    });
    const mx = grown(open, 0), my = grown(open, 1);
    for (const box of level.boxes.values()) {
      const [x, y, w, h] = box.at, fold = box.fold;
      box.element.classList.toggle("gone", Boolean(fold && fold.open));
      if (fold && fold.group) fold.group.classList.toggle("gone", !fold.open);
      if (!fold || !fold.open) { move(box.element, mx(x) - x, my(y) - y); continue; }
      const [left, top, right] = span(fold.rect, [x - w / 2, y - h / 2, x + w / 2, y + h / 2], mx, my);
      fold.title.setAttribute("x", left + 10); fold.title.setAttribute("y", top + 15);
      fold.sign.setAttribute("transform", `translate(${right - 14},${top + 11})`);
      fold.root.setAttribute("transform", `translate(${(left + right - fold.own.w) / 2},${top + HEADING})`);
    }
    for (const arrow of level.arrows) bend(arrow, mx, my);
    for (const { element, at } of level.labels) move(element, mx(at[0]) - at[0], my(at[1]) - at[1]);
    for (const { rect, at, heading } of level.rectangles) {
      const [left, top] = span(rect, at, mx, my);
      if (heading) move(heading, left - at[0], top - at[1]);
    }
    return { w: mx(level.size[0]), h: my(level.size[1]) };
  };

  const known = new Map(), packs = document.getElementsByClassName("pack");
  const unpack = (number) => {
    if (!known.has(number)) known.set(number, unpacked(packs[number].textContent));
    return known.get(number);
  };
  /** The picture of a level: that of its shape, with its own ids and words. */
  const drawing = async (fold) => {
    const turn = fold.number % told.together;
    const [its, [levels, outsides]] = await Promise.all([unpack(told.shapes + fold.shape), unpack(told.levels + Math.floor(fold.number / told.together))]);
    const own = document.importNode(new DOMParser().parseFromString(its.svg, "image/svg+xml").documentElement, true), boxes = {};
    levels[turn].forEach(([id, node, text, also, ...lines], place) => {
      const group = own.querySelector("#b" + place);
      group.id = id;
      [...group.querySelectorAll("text")].forEach((element, line) => { element.textContent = lines[line]; });
      boxes[id] = { title: lines[0], at: its.at[place] };
      if (node >= 0) boxes[id].node = node;
      if (text) boxes[id].text = text;
      if (also.length) boxes[id].also = also;
      if (id in outsides[turn]) boxes[id].outside = outsides[turn][id];
    });
    const ids = Object.keys(boxes);
    return { own, boxes, arrows: its.arrows.map((ends) => ends.map((end) => ids[end])), labels: its.labels, size: its.size };
  };
  /** The frame of an opened box, with a sign that closes it, and its own picture. */
  const fill = async (fold) => {
    const { own, ...its } = await drawing(fold);
    if (fold.group) return;
    const around = levels.get(fold.parent), box = around.boxes.get(fold.id), title = box.told.title;
    for (const odd of own.querySelectorAll(":scope > rect, :scope > title, .legend")) odd.remove();
    for (const arrow of own.querySelectorAll(".arrow")) arrow.removeAttribute("id");
    for (const ground of own.querySelectorAll(".label > rect")) ground.setAttribute("fill", GROUND);
    fold.group = shape("g", around.root, { class: "opened gone", id: "open_" + fold.id });
    fold.rect = shape("rect", fold.group, { rx: 8, fill: GROUND, stroke: "#5B6270" });
    fold.title = shape("text", fold.group, { class: "heading", "text-anchor": "start", "font-size": 10, fill: "#555555" });
    fold.title.textContent = title;
    fold.wide = title.length * 6 + 30;
    fold.sign = shape("g", fold.group, { class: "sign", tabindex: "0", role: "button", "aria-expanded": "true", "aria-label": "Close " + title });
    shape("rect", fold.sign, { x: -9, y: -9, width: 18, height: 18, fill: "transparent" });
    shape("rect", fold.sign, { x: -4, y: -4, width: 8, height: 8, fill: "none", stroke: "#5B6270" });
    shape("line", fold.sign, { x1: -2, y1: 0, x2: 2, y2: 0, stroke: "#5B6270" });
    fold.sign.addEventListener("click", () => toggle(fold.id));
    fold.sign.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.stopPropagation(); toggle(fold.id); } });
    fold.root = shape("g", fold.group);
    fold.root.append(...own.childNodes);
    fold.inside = levelOf(fold.id, fold.root, its, its.size);
    added(fold.inside);
  };

  const whole = folds.size ? levelOf("", svg, told, ["width", "height"].map((name) => Number(svg.querySelector(":scope > rect").getAttribute(name)))) : null;
  const paper = svg.querySelector(":scope > rect"), legend = svg.querySelector(".legend");
  const api = {
    size: folds.size,
    has: (id) => folds.has(id),
    /** The nodes in a fold, as pairs of the first of a run and how many. */
    nodesOf: (id) => folds.get(id).nodes,
    /** The innermost fold that has a node in it. */
    find: (node) => {
      let found = null;
      for (const fold of folds.values()) if (within(fold.nodes, node) && (!found || fold.parent === found.id)) found = fold;
      return found;
    },
    state: () => [...folds.values()].filter((fold) => fold.open).map((fold) => fold.id),
    /** Open these, the outer ones first, and close all others. */
    restore: async (open) => {
      for (const fold of folds.values()) if (fold.open && !open.includes(fold.id)) fold.open = false;
      for (const id of open) if (folds.has(id) && !folds.get(id).open) await api.toggle(id);
    },
    /** Close those in which no other is open; says whether there was any. */
    closeInner: () => {
      const open = [...folds.values()].filter((fold) => fold.open), around = new Set(open.map((fold) => fold.parent));
      for (const fold of open) if (!around.has(fold.id)) fold.open = false;
      return open.length > 0;
    },
    shown: (id) => { let at = holder.get(id); while (at) { if (!folds.get(at).open) return false; at = folds.get(at).parent; } return true; },
    /** Open all that hides a node; says whether there is anything to be seen then. */
    reveal: async (node) => {
      const way = [];
      for (let at = api.find(node); at; at = folds.get(at.parent)) way.unshift(at);
      for (const fold of way) if (!fold.open) await api.toggle(fold.id);
      return way.length > 0;
    },
    toggle: async (id) => {
      const fold = folds.get(id);
      if (!fold.group) await fill(fold);
      fold.open = !fold.open;
    },
    /** The closed box in sight that has a node in it. */
    over: (node) => {
      let found = null;
      for (let at = folds.size ? api.find(node) : null; at; at = folds.get(at.parent)) if (!at.open) found = at.id;
      return found;
    },
    /** Mark opened boxes by the classes of the closed ones. */
    mark: (names) => {
      for (const { open, group, id, parent } of folds.values()) if (open) for (const name of names) group.classList.toggle(name, levels.get(parent).boxes.get(id).element.classList.contains(name));
    },
    drawn: (id) => { const fold = folds.get(id); return fold.open ? fold.group : levels.get(fold.parent).boxes.get(id).element; },
    arrange: () => {
      const { w, h } = arrange(whole);
      move(legend, 0, h - whole.size[1]);
      paper.setAttribute("width", w); paper.setAttribute("height", h);
      return { w, h };
    },
  };
  return api;
};
