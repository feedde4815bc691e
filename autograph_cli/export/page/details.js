// What is told of a node, a fact beside its name; also as text, which a search looks through.
const detailsOf = (data) => {
  const { nodes, sources } = data;
  const codes = new Map();
  for (const [file, lines] of Object.entries(sources)) for (const [number, text] of lines) codes.set(`${file}:${number}`, text.trim());
  const bytes = (count) => (count < 1024 ? `${count} B` : count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`);
  const facts = (number) => {
    const node = nodes[number], made = nodes[node.parent];
    return [
      ["node", `%${number} ${node.name}`],
      [node.tensors && node.tensors.includes("\n") ? "tensors" : "tensor", node.tensors && node.tensors.replace(/^%/gm, `%${number}`)],
      ["line", node.line && `${node.line}  ${codes.get(node.line) || ""}`.trim()],
      ["module", node.module],
      ["made by", made && `the backward of ${(made.names || [])[0] || made.title} (${made.name})`],
      ["order", node.pass === undefined ? "" : `${node.order || 0}, pass ${node.pass}`],
      ["value", node.value],
      ["gradient", node.gradient && node.gradient.replace(/^grad /, "")],
      ["formula", node.formula],
      ["saved", node.saved],
      ["bytes", node.bytes ? bytes(node.bytes) + (node.keeps ? `, keeps ${bytes(node.keeps)}` : "") : ""],
      ["time", node.times],
    ].filter(([, told]) => told);
  };
  return {
    bytes,
    /** All facts as lower-case text. */
    text: (number) => facts(number).map(([, told]) => told).join("\n").toLowerCase(),
    /** Write facts of a node into an element, and what else is known. */
    write: (inside, number, more = "") => {
      const list = make("dl", null);
      for (const [name, told] of facts(number)) { make("dt", list, {}, name); make("dd", list, {}, told); }
      inside.replaceChildren(list);
      if (more) make("p", inside, {}, more);
    },
  };
};
