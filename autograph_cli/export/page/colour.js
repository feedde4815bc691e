// Colours that say something of each node: its module, its order, or how much of something it takes.
const colourOf = (page) => {
  const NAMED = ["#cfe8fa", "#ffe3b3", "#c8efdf", "#f9d5e5", "#e6e0f8", "#f6f2b5", "#ffd9c7", "#d5e8c8", "#e4dccf", "#c9eef0"];
  const { nodes, calls } = page.data, choice = get("colour"), scale = get("scale");
  const { bytes } = page.details;
  const time = (count) => (count < 1e6 ? `${(count / 1e3).toFixed(1)} µs` : `${(count / 1e6).toFixed(2)} ms`);
  const tops = [];
  for (const [number, { parent, title }] of calls.entries()) tops[number] = parent === null || calls[parent].parent === null ? title : tops[parent];
  const KINDS = {
    module: { title: "module", of: (node) => (node.call === undefined ? undefined : tops[node.call]) },
    order: { title: "order", of: (node) => `order ${node.order || 0}` },
    bytes: { title: "bytes made", of: (node) => node.bytes, words: bytes },
    keeps: { title: "bytes kept", of: (node) => node.keeps, words: bytes },
    time: { title: "time", of: (node) => node.time, words: time },
    flops: { title: "FLOP", of: (node) => node.flops, words: (count) => count.toLocaleString("en") },
    norm: { title: "gradient norm", of: (node) => node.norm, words: (size) => String(Number(size.toPrecision(3))) },
  };
  make("option", choice, { value: "" }, "kind");
  /** Whether not all nodes have the same. */
  const several = (of) => {
    let first;
    return nodes.some((node) => {
      const value = of(node);
      if (first === undefined) first = value;
      return value !== undefined && value !== first;
    });
  };
  for (const [key, kind] of Object.entries(KINDS)) {
    if (several(kind.of)) make("option", choice, { value: key }, kind.title);
    kind.values = once(() => [...new Set(nodes.map(kind.of).filter((value) => value !== undefined))]);
  }
  const paint = () => {
    const kind = KINDS[choice.value], view = page.view;
    scale.hidden = !kind;
    scale.replaceChildren(kind ? kind.title : "");
    let of = () => "";
    if (kind && !kind.words) {
      const names = kind.values().slice(0, NAMED.length);
      of = (value) => NAMED[kind.values().indexOf(value) % NAMED.length] || "";
      for (const name of names) { const sample = make("span", scale, {}, name); sample.style.background = of(name); }
    } else if (kind) {
      const high = kind.values().reduce((a, b) => Math.max(a, b)), low = kind.values().reduce((a, b) => Math.min(a, b));
      const part = (value) => (high > low ? Math.log1p((value - low) / (high - low) * 99) / Math.log(100) : 1);
      of = (value) => { const t = part(value); return `rgb(${255 - 15 * t}, ${Math.round(250 - 130 * t)}, ${Math.round(240 - 200 * t)})`; };
      for (const value of [low, high]) { const sample = make("span", scale, {}, kind.words(value)); sample.style.background = of(value); }
    }
    for (const [id, element] of view.boxes) {
      const shape = element.firstElementChild, node = nodes[view.told.boxes[id].node];
      const value = kind && node && id[0] !== "r" ? kind.of(node) : undefined;
      shape.style.fill = value === undefined ? (kind ? "#fff" : "") : of(value);
    }
  };
  choice.addEventListener("change", paint);
  return { film: () => { if (choice.value || page.view.painted) paint(); page.view.painted = Boolean(choice.value); } };
};
