// What is told of a node, a fact beside its name; also as text, which a search looks through.
const detailsOf = (data) => {
  const { nodes, sources } = data;
  const codes = new Map();
  for (const [file, lines] of Object.entries(sources)) for (const [number, text] of lines) codes.set(`${file}:${number}`, text.trim());
  const bytes = (count) => (count < 1024 ? `${count} B` : count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`);
  const called = (number) => (nodes[number].names || [])[0] || nodes[number].title;
  /** What is told of one of several results. */
  const ofResult = (told, nr) => (told.startsWith("#") ? told.split(/^(?=#\d+ )/m).filter((part) => part.startsWith(`#${nr} `)).join("").replace(/^#\d+ /, "") : told).trim();
  /** The value or the gradient in a line: of several results, that of the one that has the name, or the only one told, or the first. */
  const inLine = (number, fact = "value") => {
    const { names = [], tensors = "", [fact]: written = "" } = nodes[number], told = written.replace(/^grad /, ""), all = told.match(/^#\d+ /gm) || [], nr = all.length === 1 ? Number(all[0].slice(1)) : tensors.split("\n").findIndex((line) => line.startsWith(`${names[0]}: `));
    return ofResult(told, Math.max(0, nr)).replace(/\s+/g, " ").replace(/ ?[▁▂▃▄▅▆▇█][ ▁▂▃▄▅▆▇█]*$/, "") + (nr < 0 && all.length ? ` (the first of ${all.length})` : "");
  };
  /** The operations that were given the result of each node. */
  const users = once(() => {
    const found = new Map();
    nodes.forEach((node, number) => { for (const given of node.args || []) (found.get(given) || found.set(given, []).get(given)).push(number); });
    return found;
  });
  const facts = (number) => {
    const node = nodes[number], made = nodes[node.parent];
    return [
      ["node", `%${number} ${node.name}`],
      [node.tensors && node.tensors.includes("\n") ? "tensors" : "tensor", node.tensors && node.tensors.replace(/^%/gm, `%${number}`)],
      ["line", node.line && `${node.line}  ${codes.get(node.line) || ""}`.trim()],
      ["module", node.module],
      ["made by", made && `the backward of ${called(node.parent)} (${made.name})`],
      ["order", node.pass === undefined ? "" : `${node.order || 0}, pass ${node.pass + 1}`],
      ["formula", node.formula],
      ["value", node.value],
      ["gradient", node.gradient && node.gradient.replace(/^grad /, "")],
      ["saved", node.saved],
      ["bytes", node.bytes ? bytes(node.bytes) + (node.keeps ? `, keeps ${bytes(node.keeps)}` : "") : ""],
      ["time", node.times],
      ["check", node.check],
    ].filter(([, told]) => told);
  };
  const BARS = /^[ ▁▂▃▄▅▆▇█]+$/;
  /** The numbers of a tensor in words, without the row of bars, and the histograms in its place. */
  const numbersIn = (inside, name, told, bins) => {
    const lines = bins ? told.split("\n").filter((line) => !BARS.test(line)) : [told];
    inside.textContent = lines.join("\n");
    for (const line of bins ? bins.split("\n") : []) {
      const [counts, low, high] = line.split("\t"), [nr, rest] = counts.split(" ");
      histogram(inside, low, high, rest.split(",").map(Number), bins.includes("\n") ? `${name} #${nr}` : name);
    }
  };
  return {
    bytes, called, users, ofResult, inLine,
    /** All facts as lower-case text. */
    text: (number) => facts(number).map(([, told]) => told).join("\n").toLowerCase(),
    /** Write facts of a node into an element, and what else is known. */
    write: (inside, number, more = "") => {
      const list = make("dl", null), node = nodes[number];
      for (const [name, told] of facts(number)) {
        make("dt", list, {}, name);
        const fact = make("dd", list, {}, told);
        if (name === "value") numbersIn(fact, name, told, node.value_bins);
        if (name === "gradient") numbersIn(fact, name, told, node.gradient_bins);
      }
      inside.replaceChildren(list);
      if (more) make("p", inside, {}, more);
    },
  };
};
