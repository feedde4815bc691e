// Modules that open and close. The layout is that of all modules open; what a closed one leaves empty is taken out of
// it: strips across the picture in which nothing is seen shrink to what closed modules need to say what is in them.
const modulesOf = (data, svg) => {
  const GAP = 7, HEADING = 19, LEADING = 10.8;
  const get = (id) => svg.getElementById(id);
  const all = (selector) => [...svg.querySelectorAll(selector)];

  // ---------------------------------------------------------------- what is there

  const boxes = Object.entries(data.boxes).map(([id, box]) => ({ id, frame: box.frame || "", at: box.at, element: get(id) }));
  const boxOf = new Map(boxes.map((box) => [box.id, box]));
  const frames = Object.entries(data.frames).map(([id, frame]) => ({ ...frame, id, element: get(id), boxes: [], closed: false, top: null }));
  const frameOf = new Map(frames.map((frame) => [frame.id, frame]));
  for (const box of boxes) for (let at = frameOf.get(box.frame); at; at = frameOf.get(at.parent)) at.boxes.push(box.id);
  const arrows = data.arrows.map(([tail, head], number) => {
    const element = get("e" + number), polygon = element.querySelector("polygon");
    return { tail: boxOf.get(tail), head: boxOf.get(head), element, polygon, tip: numbers(polygon.getAttribute("points")), ...curve(element.querySelector("path")) };
  });
  const labels = all(".label").map((element, place) => {
    const [number, x, y] = data.labels[place];
    return { element, x, y, half: Number(element.querySelector("rect").getAttribute("width")) / 2, arrow: arrows[number] };
  });
  const bows = all(".link").map((path, place) => ({ ends: data.bows[place].map((id) => boxOf.get(id)), ...curve(path) }));
  const rectangle = (rect) => {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((key) => Number(rect.getAttribute(key)));
    return { rect, at: [x, y, x + width, y + height] };
  };
  const headings = all(".heading");
  const lanes = all(".band").map((rect, place) => ({ heading: headings[place], ...rectangle(rect) }));
  const paper = svg.querySelector(":scope > rect"), legend = svg.querySelector(".legend");
  const size = [Number(paper.getAttribute("width")), Number(paper.getAttribute("height"))];
  const layer = document.createElementNS(svg.namespaceURI, "g");
  svg.insertBefore(layer, legend);

  const wide = legend.firstChild ? legend.getBBox().width + 28 : 0;
  const texts = frames.map((frame) => frame.element.querySelector("text"));
  const words = texts.map((text) => text.getBBox()).map(({ x, y, width, height }) => [x, y, x + width, y + height]);
  for (const [place, frame] of frames.entries()) {
    Object.assign(frame, { text: texts[place], words: words[place], plate: frame.element.querySelector("rect") });
    frame.sign = shape("g", frame.element, { class: "sign", tabindex: "0", role: "button", "aria-expanded": "true", "aria-label": "Close " + frame.title });
    const [x, y] = [frame.at[2] - 1, frame.at[1] + 1]; // on the corner, where no title reaches
    shape("rect", frame.sign, { x: x - 9, y: y - 9, width: 18, height: 18, fill: "transparent" });
    shape("rect", frame.sign, { x: x - 4, y: y - 4, width: 8, height: 8, fill: "#FFFFFF", stroke: "#5B6270" });
    shape("line", frame.sign, { x1: x - 2, y1: y, x2: x + 2, y2: y, stroke: "#5B6270" });
    frame.shut = shape("g", layer, { id: "shut_" + frame.id, class: "box shut gone", tabindex: "0", role: "button", "aria-expanded": "false", "aria-label": frame.title });
    frame.cover = shape("rect", frame.shut, { rx: 8, fill: "#E4E6EB", stroke: "#5B6270", "stroke-width": 2 });
    frame.told = shape("g", frame.shut);
    const top = -LEADING * frame.lines.length / 2;
    shape("text", frame.told, { x: 0, y: top + 4, fill: "#222222" }).textContent = "⊞ " + frame.title;
    frame.lines.forEach((line, turn) => {
      shape("text", frame.told, { x: 0, y: top + 5 + LEADING * (turn + 1), fill: "#555555", "font-size": 9 }).textContent = line;
    });
  }

  // ---------------------------------------------------------------- what shrinks

  /** The parts of [from, to] intervals that no obstacle covers, cut at the ends of all intervals. */
  const free = (intervals, obstacles) => {
    const ends = [];
    for (const [from, to] of intervals) if (to > from) ends.push([from, 1, 0], [to, -1, 0]);
    for (const [from, to] of obstacles) if (to > from) ends.push([from, 0, 1], [to, 0, -1]);
    ends.sort((a, b) => a[0] - b[0]);
    const strips = [];
    let inside = 0, covered = 0, last = 0;
    for (const [at, opens, covers] of ends) {
      if (inside > 0 && covered === 0 && at > last) strips.push({ from: last, to: at, length: 0.01 * (at - last) });
      inside += opens; covered += covers; last = at;
    }
    return strips;
  };
  const axis = (shut, obstacles, place) => {
    const strips = free(shut.map((frame) => [frame.at[place], frame.at[place + 2]]), obstacles);
    for (const frame of [...shut].sort((a, b) => a.at[place + 2] - a.at[place] - (b.at[place + 2] - b.at[place]))) {
      const [from, to] = [frame.at[place], frame.at[place + 2]];
      const own = strips.filter((strip) => strip.from >= from && strip.to <= to);
      const room = own.reduce((sum, strip) => sum + strip.to - strip.from, 0);
      const lacks = frame.size[place] - (to - from - room) - own.reduce((sum, strip) => sum + strip.length, 0);
      if (lacks > 0) for (const strip of own) strip.length += lacks * (strip.to - strip.from) / room;
    }
    return mapped(strips);
  };
  const within = (x, y, [left, top, right, bottom], margin = 0.1) => x > left - margin && x < right + margin && y > top - margin && y < bottom + margin;
  const obstacles = () => {
    const xs = [], ys = [];
    const add = ([left, top, right, bottom], gap) => { xs.push([left - gap, right + gap]); ys.push([top - gap, bottom + gap]); };
    for (const box of boxes) if (!box.top) { const [x, y, w, h] = box.at; add([x - w / 2, y - h / 2, x + w / 2, y + h / 2], GAP); }
    for (const frame of frames) {
      if (frame.top) continue;
      const [left, top, right, bottom] = frame.at;
      xs.push([left - 2, left + GAP], [right - GAP, right + 2], [frame.words[0], frame.words[2] + HEADING]);
      ys.push([top - GAP, top + HEADING], [bottom - GAP, bottom + GAP]);
    }
    for (const { at } of lanes) ys.push([at[1] - GAP, at[1] + HEADING], [at[3] - GAP, at[3] + GAP]);
    for (const label of labels) if (seen(label)) add([label.x - label.half, label.y - 5, label.x + label.half, label.y + 5], 2);
    for (const arrow of arrows) {
      const hides = [arrow.tail.top, arrow.head.top].filter(Boolean);
      if (hides.length && arrow.tail.top === arrow.head.top) continue;
      for (let i = 0; i < arrow.at.length; i += 2) {
        const x = arrow.at[i];
        if (!hides.some((frame) => within(x, arrow.at[i + 1], frame.at))) xs.push([x - 4, x + 4]);
      }
    }
    return [xs, ys];
  };
  const seen = ({ x, y, arrow }) => {
    const { tail, head } = arrow;
    if (!tail.top && !head.top) return true;
    return tail.top !== head.top && ![tail.top, head.top].some((frame) => frame && within(x, y, frame.at));
  };

  // ---------------------------------------------------------------- where everything goes

  /** Points along a curve. */
  const along = ({ marks, at }) => {
    const points = [];
    let i = 0, x = 0, y = 0;
    for (const mark of marks) {
      if (mark === "C") {
        const [x1, y1, x2, y2, x3, y3] = at.slice(i, i + 6);
        for (let t = 0.1; t < 0.95; t += 0.1) {
          const a = (1 - t) ** 3, b = 3 * t * (1 - t) ** 2, c = 3 * t * t * (1 - t), d = t ** 3;
          points.push([a * x + b * x1 + c * x2 + d * x3, a * y + b * y1 + c * y2 + d * y3]);
        }
        i += 4;
      }
      [x, y] = [at[i], at[i + 1]];
      points.push([x, y]);
      i += 2;
    }
    return points;
  };
  /** Where a curve enters a rectangle, and whether from above; null if it starts in there. */
  const entry = (arrow, at) => {
    const points = along(arrow);
    let last = points.length - 1;
    while (last >= 0 && within(...points[last], at)) last -= 1;
    if (last < 0) return null;
    const [x0, y0] = points[last], [x1, y1] = points[last + 1] || arrow.tip, down = y0 <= at[1] + 0.1;
    const y = down ? at[1] : at[3], t = y1 === y0 ? 1 : Math.min(1, Math.max(0, (y - y0) / (y1 - y0)));
    return { x: x0 + (x1 - x0) * t, y, down };
  };
  const point = (polygon, x, y, back) => polygon.setAttribute("points", `${x},${y} ${x - 3.2},${y + back} ${x + 3.2},${y + back}`);
  const drawArrow = (arrow, mx, my) => {
    const gone = arrow.tail.top && arrow.tail.top === arrow.head.top;
    arrow.element.classList.toggle("gone", Boolean(gone));
    if (gone) return;
    redraw(arrow, mx, my);
    const [x, y] = arrow.tip, met = arrow.head.top && entry(arrow, arrow.head.top.at);
    if (met) {
      point(arrow.polygon, mx(met.x), my(met.y), met.down ? -8 : 8);
    } else {
      point(arrow.polygon, mx(x), my(y), arrow.tip[3] - y);
    }
  };
  /** What a closed frame says, as far as there is room: its words are never made smaller. */
  const write = (frame, width, height) => {
    const LETTER = 6.2, [title, ...lines] = frame.told.children, whole = "⊞ " + frame.title, most = Math.max(2, Math.floor((width - 8) / LETTER));
    title.textContent = width >= frame.size[0] || whole.length <= most ? whole : whole.slice(0, most - 1) + "…";
    const room = height >= frame.size[1] ? lines.length : Math.max(0, Math.floor((height - 20) / LEADING));
    lines.forEach((line, turn) => line.classList.toggle("gone", turn >= room || (width < frame.size[0] && line.textContent.length * LETTER * 0.75 > width - 6)));
    const up = (LEADING * (lines.length - lines.filter((line) => !line.classList.contains("gone")).length)) / 2;
    if (up) frame.told.setAttribute("transform", `translate(0,${up})`); else frame.told.removeAttribute("transform");
  };
  const drawFrame = (frame, mx, my) => {
    const shut = frame.top === frame;
    frame.element.classList.toggle("gone", Boolean(frame.top));
    frame.shut.classList.toggle("gone", !shut);
    const [left, top, right, bottom] = span(shut ? frame.cover : frame.plate, frame.at, mx, my);
    if (shut) {
      write(frame, right - left, bottom - top);
      move(frame.told, (left + right) / 2, (top + bottom) / 2);
    } else {
      const [x, , , y] = frame.words;
      move(frame.text, mx(x) - x, my(y) - y);
      move(frame.sign, right - frame.at[2], top - frame.at[1]);
    }
  };
  let bent = false;
  /** Which frames are closed, and where that puts everything: the strips that shrink, and the new size. */
  const plan = () => {
    for (const frame of frames) {
      const around = frameOf.get(frame.parent);
      frame.top = (around && around.top) || (frame.closed ? frame : null);
    }
    for (const box of boxes) box.top = box.frame ? frameOf.get(box.frame).top : null;
    const shut = frames.filter((frame) => frame.top === frame);
    if (!shut.length) return { shut, mx: (x) => x, my: (y) => y, w: size[0], h: size[1] };
    const [xs, ys] = obstacles(), mx = axis(shut, xs, 0), my = axis(shut, ys, 1);
    return { shut, mx, my, w: Math.max(mx(size[0]), wide), h: my(size[1]) };
  };
  /** Put everything where it belongs; gives the new width and height. */
  const arrange = () => {
    const { shut, mx, my, w, h } = plan();
    if (!shut.length && !bent) return { w, h };
    bent = shut.length > 0;
    for (const box of boxes) {
      box.element.classList.toggle("gone", box.top !== null);
      if (!box.top) move(box.element, mx(box.at[0]) - box.at[0], my(box.at[1]) - box.at[1]);
    }
    for (const frame of frames) if (!frame.top || frame.top === frame) drawFrame(frame, mx, my); else { frame.element.classList.add("gone"); frame.shut.classList.add("gone"); }
    for (const arrow of arrows) drawArrow(arrow, mx, my);
    for (const label of labels) {
      const there = seen(label);
      label.element.classList.toggle("gone", !there);
      if (there) move(label.element, mx(label.x) - label.x, my(label.y) - label.y);
    }
    for (const bow of bows) {
      bow.path.classList.toggle("gone", bow.ends.some((box) => box.top));
      redraw(bow, mx, my);
    }
    for (const lane of lanes) {
      const [left, top] = span(lane.rect, lane.at, mx, my);
      move(lane.heading, left - lane.at[0], top - lane.at[1]);
    }
    move(legend, 0, h - size[1]);
    paper.setAttribute("width", w); paper.setAttribute("height", h);
    return { w, h };
  };
  /** Open as much as fits into so much room, no deeper than was asked for; at least a few boxes are seen. */
  const fit = (width, height) => {
    const FEW = 4, TRIES = 40, PAGES = 9, given = new Set(data.closed), deepest = frames.reduce((most, frame) => Math.max(most, frame.depth), 0);
    const fits = (pages = 1) => { // the legend may be looked for
      const { shut, mx, my } = plan(), seen = boxes.filter((box) => !box.top), ends = (place) => [...seen.map(({ at }) => at[place] + at[place + 2] / 2), ...shut.map(({ at }) => at[place + 2])];
      const high = my(Math.max(...ends(1))), wide = mx(Math.max(...ends(0))) - mx(Math.min(...seen.map(({ at }) => at[0] - at[2] / 2), ...shut.map(({ at }) => at[0])));
      const [room, tall] = pages > 1 ? [Math.max(width, 660), Math.max(height, 500)] : [width, height]; // several windows are not those of a phone
      return wide <= room * Math.sqrt(pages) && high <= tall * pages;
    };
    const seen = () => boxes.filter((box) => !box.top).length + frames.filter((frame) => frame.top === frame).length;
    const close = (depth) => { for (const frame of frames) frame.closed = given.has(frame.id) || frame.depth > depth; };
    let depth = deepest, least = deepest;
    for (; depth >= 0; depth -= 1) {
      close(depth);
      const fitting = fits();
      if (seen() < FEW && depth < deepest) break;
      least = depth;
      if (fitting || (depth === 1 && fits(PAGES))) break; // the layers of a model say more than one box
    }
    close(least);
    if (least === deepest || !fits()) return plan();
    const closed = frames.filter((frame) => frame.closed && !given.has(frame.id) && frame.depth === least + 1);
    for (const frame of closed.slice(0, TRIES)) { frame.closed = false; if (!fits()) frame.closed = true; }
    return plan();
  };

  const deep = (frame) => (frame.parent ? 1 + deep(frameOf.get(frame.parent)) : 1);
  for (const frame of frames) frame.depth = deep(frame);
  for (const id of data.closed) frameOf.get(id).closed = true;
  return {
    frames, frameOf, arrange, fit,
    state: () => frames.filter((frame) => frame.closed).map((frame) => frame.id),
    restore: (closed) => { for (const frame of frames) frame.closed = closed.includes(frame.id); },
    labels: new Map(labels.map((label) => [label.arrow.element.id, label.element])),
    /** The closed frame in which a box is hidden. */
    topOf: (id) => (boxOf.has(id) ? boxOf.get(id).top : null),
    /** Open all that hides a box; says whether there was any. */
    reveal: (id) => {
      if (!boxOf.has(id)) return false;
      const hidden = boxOf.get(id).top !== null;
      for (let frame = frameOf.get(boxOf.get(id).frame); frame; frame = frameOf.get(frame.parent)) frame.closed = false;
      return hidden;
    },
    /** Close the innermost open frames, or open the outermost closed ones. */
    all: (close) => {
      const some = frames.filter((frame) => (close ? !frame.top : frame.top === frame));
      if (!some.length) return false;
      const depth = close ? Math.max(...some.map((frame) => frame.depth)) : Math.min(...some.map((frame) => frame.depth));
      for (const frame of some) if (frame.depth === depth) frame.closed = close;
      return true;
    },
  };
};
