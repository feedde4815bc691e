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
    const [x, y, ...its] = data.labels[place];
    return { element, x, y, half: Number(element.querySelector("rect").getAttribute("width")) / 2, arrows: its.map((number) => arrows[number]) };
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
  const seen = ({ x, y, arrows: its }) => its.some(({ tail, head }) => {
    if (!tail.top && !head.top) return true;
    return tail.top !== head.top && ![tail.top, head.top].some((frame) => frame && within(x, y, frame.at));
  });

  // ---------------------------------------------------------------- where everything goes

  /** Points along a curve, each with its segment and how far in that it is. */
  const along = ({ marks, at }) => {
    const points = [];
    let i = 0, x = 0, y = 0;
    for (const [turn, mark] of marks.entries()) {
      if (mark === "C") {
        const [x1, y1, x2, y2, x3, y3] = at.slice(i, i + 6);
        for (let t = 0.1; t < 0.95; t += 0.1) {
          const a = (1 - t) ** 3, b = 3 * t * (1 - t) ** 2, c = 3 * t * t * (1 - t), d = t ** 3;
          points.push([a * x + b * x1 + c * x2 + d * x3, a * y + b * y1 + c * y2 + d * y3, turn, t]);
        }
        i += 4;
      }
      [x, y] = [at[i], at[i + 1]];
      points.push([x, y, turn, 1]);
      i += 2;
    }
    return points;
  };
  const reversed = ({ marks, at }) => {
    const back = [];
    for (let i = at.length - 2; i >= 0; i -= 2) back.push(at[i], at[i + 1]);
    return { marks: ["M", ...marks.slice(1).reverse()], at: back };
  };
  /** A curve up to where it enters a rectangle for good; null if it starts in there. */
  const upTo = (curve, at) => {
    const points = along(curve);
    let last = points.length - 1;
    while (last >= 0 && within(points[last][0], points[last][1], at)) last -= 1;
    if (last < 0) return null;
    if (last === points.length - 1) return curve;
    const [x0, y0] = points[last], [x1, y1, turn, t1] = points[last + 1], t0 = points[last][2] === turn ? points[last][3] : 0;
    const y = y0 <= at[1] + 0.1 ? at[1] : at[3], share = y1 === y0 ? 1 : Math.min(1, Math.max(0, (y - y0) / (y1 - y0))), t = t0 + share * (t1 - t0);
    const start = curve.marks.slice(0, turn).reduce((sum, mark) => sum + (mark === "C" ? 6 : 2), 0), kept = curve.at.slice(0, start);
    const mix = (a, b) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
    let row = [curve.at.slice(start - 2, start)];
    for (let i = 0; i < (curve.marks[turn] === "C" ? 3 : 1); i += 1) row.push(curve.at.slice(start + 2 * i, start + 2 * i + 2));
    while (row.length > 1) { row = row.slice(1).map((end, place) => mix(row[place], end)); kept.push(...row[0]); }
    return { marks: curve.marks.slice(0, turn + 1), at: kept };
  };
  /** What is seen of an arrow between closed frames: where it leaves the one and enters the other. */
  const clipped = (arrow) => {
    const { tail, head } = arrow, [from, to] = [tail.top, head.top];
    if (arrow.clip && arrow.clip.from === from && arrow.clip.to === to) return arrow.clip;
    const clip = { from, to, seen: arrow, out: null, into: null };
    if (from) { const left = upTo(reversed(arrow), from.at); clip.seen = left && reversed(left); clip.out = clip.seen && clip.seen.at[0]; }
    if (to && clip.seen) {
      const whole = { marks: [...clip.seen.marks, "L"], at: [...clip.seen.at, ...arrow.tip.slice(0, 2)] }, met = upTo(whole, to.at);
      clip.into = met && met.at.slice(-2);
      clip.down = clip.into && clip.into[1] <= to.at[1] + 0.1;
      clip.seen = met && upTo(clip.seen, [to.at[0], to.at[1] - 7, to.at[2], to.at[3] + 7]);
    }
    arrow.clip = clip;
    return clip;
  };
  const point = (polygon, x, y, back) => polygon.setAttribute("points", `${x},${y} ${x - 3.2},${y + back} ${x + 3.2},${y + back}`);
  const drawArrow = (arrow, mx, my) => {
    const gone = arrow.tail.top && arrow.tail.top === arrow.head.top;
    arrow.element.classList.toggle("gone", Boolean(gone));
    if (gone) return;
    const { seen, into, down } = clipped(arrow), [x, y] = arrow.tip;
    arrow.path.classList.toggle("gone", !seen);
    if (seen) redraw({ ...mx.along(seen), path: arrow.path }, mx, my);
    if (into) point(arrow.polygon, mx(...into), my(into[1]), down ? -8 : 8);
    else point(arrow.polygon, mx(x, y), my(y), arrow.tip[3] - y);
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
  const drawFrame = (frame) => {
    const shut = frame.top === frame, [left, top, right, bottom] = frame.now;
    frame.element.classList.toggle("gone", Boolean(frame.top));
    frame.shut.classList.toggle("gone", !shut);
    span(shut ? frame.cover : frame.plate, frame.now, (x) => x, (y) => y);
    if (shut) {
      write(frame, right - left, bottom - top);
      move(frame.told, (left + right) / 2, (top + bottom) / 2);
    } else {
      move(frame.text, left - frame.at[0], top - frame.at[1]);
      move(frame.sign, right - frame.at[2], top - frame.at[1]);
    }
  };

  // ---------------------------------------------------------------- one below the other

  const MARGIN = 12;
  const inside = (item, frame) => { for (let at = frameOf.get(item.frame || item.parent || ""); at; at = frameOf.get(at.parent)) if (at === frame) return true; return false; };
  /** A closed frame with nothing beside it, nor beside what it is in: what is below it may be moved sideways. */
  const alone = (frame, items) => {
    const around = [];
    for (let at = frame; at; at = frameOf.get(at.parent)) around.push(at);
    const beside = ({ item, at }) => !around.includes(item) && around.some((outer) => at[1] < outer.at[3] && at[3] > outer.at[1] && !inside(item, outer));
    return !items.some(beside);
  };
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  /** Where arrows run at a height, those that neither end nor begin in a closed frame there. */
  const passing = (frame, y) => arrows.filter(({ tail, head, tip, at }) => tail.top !== frame && head.top !== frame && (!tail.top || tail.top !== head.top) && Math.min(at[1], tip[1]) < y && Math.max(at[1], tip[1]) > y)
    .flatMap((arrow) => { const points = along(arrow), next = points.findIndex((point) => point[1] >= y); return next > 0 ? [points[next - 1][0], points[next][0]] : []; });
  /** Closed frames below which everything is moved sideways, so that arrows go on straight where they came in. */
  const turnsOf = (shut, items, mx) => {
    const turns = [];
    for (const frame of [...shut].sort((a, b) => a.at[1] - b.at[1])) {
      const ins = [], outs = [];
      for (const arrow of arrows) {
        if (arrow.tail.top === arrow.head.top) continue;
        if (arrow.head.top === frame && clipped(arrow).into) ins.push(mx(clipped(arrow).into[0]));
        if (arrow.tail.top === frame && clipped(arrow).out !== null) outs.push(mx(clipped(arrow).out));
      }
      if (!ins.length || !outs.length || !alone(frame, items)) continue;
      const from = mean(ins), by = from - mean(outs), ends = [...ins, ...outs.map((x) => x + by)].map((x) => Math.abs(x - from)), half = Math.max(frame.size[0] / 2, Math.max(...ends) + MARGIN);
      const free = (x) => (mx(x) < from ? mx(x) + Math.max(0, by) < from - half : mx(x) + Math.min(0, by) > from + half);
      if (passing(frame, (frame.at[1] + frame.at[3]) / 2).every(free)) turns.push({ frame, top: frame.at[1], bottom: frame.at[3], by, from, half, before: turns.reduce((sum, turn) => sum + turn.by, 0) });
    }
    return turns;
  };
  /** Whether a straight line leads through a rectangle. */
  const through = ([x0, y0], [x1, y1], [left, top, right, bottom]) => {
    const from = Math.max(top, Math.min(y0, y1)), to = Math.min(bottom, Math.max(y0, y1)), x = (y) => (y1 === y0 ? x0 : x0 + (x1 - x0) * (y - y0) / (y1 - y0));
    return from <= to && Math.min(x(from), x(to)) <= right && Math.max(x(from), x(to)) >= left;
  };
  /** A curve with more points where what is beside it moves sideways; straight past all of that, if nothing is in its way. */
  const bending = (turns, clear) => (curve) => {
    const ends = turns.flatMap(({ top, bottom }) => [top, bottom]), [first, last] = [curve.at[1], curve.at[curve.at.length - 1]];
    if (!ends.some((y) => Math.min(first, last) + 1 < y && y < Math.max(first, last) - 1)) return curve;
    const found = [];
    for (const [x, y] of along(curve)) {
      const [x0, y0] = found.slice(-2);
      if (found.length) for (const end of y > y0 ? ends : [...ends].reverse()) if (Math.min(y0, y) < end && end < Math.max(y0, y)) found.push(x0 + (x - x0) * (end - y0) / (y - y0), end);
      found.push(x, y);
    }
    const heights = found.filter((_, place) => place % 2), beside = (y) => y >= turns[0].top && y <= turns[turns.length - 1].bottom, [a, b] = [heights.findIndex(beside), heights.findLastIndex(beside)];
    if (b > a + 1 && clear(found.slice(2 * a, 2 * a + 2), found.slice(2 * b, 2 * b + 2))) found.splice(2 * a + 2, 2 * (b - a - 1));
    return { marks: found.slice(0, found.length / 2).map((_, place) => (place ? "L" : "M")), at: found };
  };
  /** Where everything is drawn: frames have their places, and the rest follows from its own. */
  const straight = (shut, mx, my) => {
    const items = boxes.filter((box) => !box.top).map((item) => { const [x, y, w, h] = item.at; return { item, at: [x - w / 2, y - h / 2, x + w / 2, y + h / 2] }; });
    for (const frame of frames) if (!frame.top || frame.top === frame) items.push({ item: frame, at: frame.at });
    const turns = lanes.length || bows.length ? [] : turnsOf(shut, items, mx);
    const shift = (y) => { let by = 0; for (const turn of turns) if (y > turn.top) by = turn.before + turn.by * Math.min(1, (y - turn.top) / (turn.bottom - turn.top)); else break; return by; };
    const plain = (at) => [mx(at[0]), my(at[1]), mx(at[2]), my(at[3])];
    for (const { item, at } of items) { const before = plain(at), by = shift((at[1] + at[3]) / 2); Object.assign(item, { before, now: [before[0] + by, before[1], before[2] + by, before[3]] }); }
    for (const { frame, from, half, before } of turns) Object.assign(frame.now, { 0: from + before - half, 2: from + before + half });
    const edge = (its, key, place) => (place ? Math.max : Math.min)(...its.map(({ item }) => item[key][place]));
    if (turns.length) for (const frame of frames.filter((each) => !each.top).reverse()) {
      const its = items.filter(({ item }) => inside(item, frame));
      if (its.length) for (const place of [0, 2]) frame.now[place] = edge(its, "now", place) + frame.before[place] - edge(its, "before", place);
      frame.now[2] = Math.max(frame.now[2], frame.now[0] + frame.words[2] - frame.words[0] + HEADING + 10);
    }
    const left = turns.length ? edge(items, "before", 0) - edge(items, "now", 0) : 0, right = turns.length ? edge(items, "now", 2) + left - edge(items, "before", 2) : 0;
    for (const { item } of items) { item.now[0] += left; item.now[2] += left; }
    const moved = (x, y) => mx(x) + shift(y) + left;
    moved.along = bending(turns, (...ends) => {
      const [from, to] = ends.map(([x, y]) => [moved(x, y), my(y)]);
      return !items.some(({ item }) => (!item.plate || item.top) && through(from, to, item.now));
    });
    return { mx: moved, w: Math.max(mx(size[0]) + right, wide), items };
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
    const [xs, ys] = shut.length ? obstacles() : [], same = (at) => at, my = shut.length ? axis(shut, ys, 1) : same;
    return { shut, my, h: my(size[1]), ...straight(shut, shut.length ? axis(shut, xs, 0) : same, my) };
  };
  /** Put everything where it belongs; gives the new width and height. */
  const arrange = () => {
    const { shut, mx, my, w, h } = plan();
    if (!shut.length && !bent) return { w, h };
    bent = shut.length > 0;
    for (const box of boxes) {
      box.element.classList.toggle("gone", box.top !== null);
      if (!box.top) move(box.element, mx(...box.at) - box.at[0], my(box.at[1]) - box.at[1]);
    }
    for (const frame of frames) if (!frame.top || frame.top === frame) drawFrame(frame); else { frame.element.classList.add("gone"); frame.shut.classList.add("gone"); }
    for (const arrow of arrows) drawArrow(arrow, mx, my);
    for (const label of labels) {
      const there = seen(label);
      label.element.classList.toggle("gone", !there);
      if (there) move(label.element, mx(label.x, label.y) - label.x, my(label.y) - label.y);
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
      const seen = plan().items.filter(({ item }) => !item.plate || item.top), ends = (place) => seen.map(({ item }) => item.now[place]);
      const high = Math.max(...ends(3)), wide = Math.max(...ends(2)) - Math.min(...ends(0));
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
    labels: new Map(labels.flatMap((label) => label.arrows.map((arrow) => [arrow.element.id, label.element]))),
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
