// Colours that say something of each node: its module, its order, or how much of something it takes. A box that stands for
// several, as a closed module does, has their sum, or of what does not add up the most of them.
const colourOf = (page) => {
  const NAMED = ["#cfe8fa", "#ffe3b3", "#c8efdf", "#f9d5e5", "#e6e0f8", "#f6f2b5", "#ffd9c7", "#d5e8c8", "#e4dccf", "#c9eef0"];
  const OUTLIER = 20, { nodes, calls } = page.data, choice = get("colour"), scale = get("scale");
  const { bytes } = page.details;
  const time = (count) => (count < 1e6 ? `${(count / 1e3).toFixed(1)} µs` : `${(count / 1e6).toFixed(2)} ms`), short = (size) => String(Number(size.toPrecision(3)));
  const tops = [];
  for (const [number, { parent, title }] of calls.entries()) tops[number] = parent === null || calls[parent].parent === null ? title : tops[parent];
  const KINDS = {
    module: { title: "module", of: (node) => (node.call === undefined ? undefined : tops[node.call]) },
    order: { title: "order", of: (node) => `order ${node.order || 0}` },
    bytes: { title: "bytes made", of: (node) => node.bytes, words: bytes, adds: true },
    keeps: { title: "bytes kept", of: (node) => node.keeps, words: bytes },
    time: { title: "time", of: (node) => node.time, words: time, adds: true },
    flops: { title: "FLOP", of: (node) => node.flops, words: (count) => count.toLocaleString("en"), adds: true },
    norm: { title: "gradient norm", of: (node) => node.norm, words: short },
    size: { title: "value norm", of: (node) => node.size, words: short },
    error: { title: "error of check", of: (node) => node.error, words: short },
    apart: { title: "difference of runs", of: (node) => (page.apart ? page.apart.get(node.number) : undefined), words: short },
    change: { title: "change", of: (node) => (page.changed ? page.changed.get(node.number) : undefined), words: (share) => `${(100 * share).toPrecision(3)} %` },
  };
  make("option", choice, { value: "" }, "colour: kind");
  /** Whether not all nodes have the same. */
  const several = (of) => {
    let first;
    return nodes.some((node) => {
      const value = of(node);
      if (first === undefined) first = value;
      return value !== undefined && value !== first;
    });
  };
  const options = new Map();
  const offer = () => {
    for (const [key, kind] of Object.entries(KINDS)) {
      const has = several(kind.of);
      if (has && !options.has(key)) options.set(key, make("option", choice, { value: key }, kind.title));
      if (!has && options.has(key)) { if (choice.value === key) choice.value = ""; options.get(key).remove(); options.delete(key); }
    }
  };
  const amount = (kind, numbers) => {
    const its = [...new Set(numbers)].map((number) => kind.of(nodes[number])).filter((value) => value !== undefined);
    if (!its.length) return undefined;
    if (!kind.words) return new Set(its).size === 1 ? its[0] : undefined;
    return kind.adds ? its.reduce((a, b) => a + b) : its.reduce((a, b) => Math.max(a, b));
  };
  const GROUND = (t) => `rgb(${Math.round(255 - 15 * t)}, ${Math.round(250 - 130 * t)}, ${Math.round(240 - 200 * t)})`;
  /** From where to where a ramp goes: one value far beyond the others does not make these all alike. */
  const rampOf = (values) => {
    const sorted = [...values].sort((a, b) => a - b), most = sorted[sorted.length - 1], low = sorted[0], second = sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 2)];
    const high = sorted.length > 3 && second > 0 && most > OUTLIER * second ? second : most;
    return { low, high, most, part: (value) => (high > low ? Math.min(1, Math.log1p(Math.max(0, (value - low) / (high - low)) * 99) / Math.log(100)) : 1) };
  };
  const shapes = (view) => [
    ...[...view.boxes].map(([id, element]) => [id, element.firstElementChild]),
    ...view.modules.frames.filter((frame) => frame.top === frame).map((frame) => [frame.id, frame.cover]),
  ];
  const legend = (kind, ramp) => {
    const ends = [make("span", scale, {}, kind.words(ramp.low))];
    ends[0].style.background = GROUND(ramp.part(ramp.low));
    const bar = make("i", scale, { class: "ramp", title: "logarithmic, the darker the more" });
    bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((t) => GROUND(t)).join(", ")})`;
    ends.push(make("span", scale, {}, (ramp.high < ramp.most ? "from " : "") + kind.words(ramp.high)));
    ends[1].style.background = GROUND(1);
    if (ramp.high < ramp.most) make("small", scale, {}, `up to ${kind.words(ramp.most)}`);
  };
  const paint = () => {
    const kind = KINDS[choice.value], view = page.view;
    if (!view) return;
    scale.hidden = !kind;
    view.svg.classList.toggle("heated", Boolean(kind));
    scale.replaceChildren(kind ? kind.title : "");
    const seen = kind ? shapes(view).map(([id, shape]) => [shape, amount(kind, view.nodesOf(id))]) : [], values = seen.map(([, value]) => value).filter((value) => value !== undefined);
    let of = () => "";
    if (kind && !kind.words) {
      const all = [...new Set(nodes.map(kind.of).filter((value) => value !== undefined))];
      of = (value) => NAMED[all.indexOf(value) % NAMED.length] || "";
      for (const name of all.slice(0, NAMED.length)) { const sample = make("span", scale, {}, name); sample.style.background = of(name); }
    } else if (values.length) {
      const ramp = rampOf(values);
      of = (value) => GROUND(ramp.part(value));
      legend(kind, ramp);
    }
    if (!kind) for (const shape of [...[...view.boxes.values()].map((element) => element.firstElementChild), ...view.modules.frames.map((frame) => frame.cover)]) shape.style.fill = "";
    for (const [shape, value] of seen) shape.style.fill = value === undefined ? "#fff" : of(value);
  };
  choice.addEventListener("change", paint);
  offer();
  return {
    film: () => { if (choice.value || page.view.painted) paint(); page.view.painted = Boolean(choice.value); },
    /** Offer what the numbers of this step have, and paint anew. */
    refresh: () => { offer(); paint(); },
  };
};
