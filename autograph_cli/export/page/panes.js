// Beside the picture: the tree of modules, and the results and leaves; what is chosen is marked there and in the source.
const panesOf = (page) => {
  const { nodes, ran, calls, roots, formulas } = page.data;
  const MOST = 400;
  const byLine = new Map(), byCall = new Map(), rows = new Map();
  nodes.forEach((node, number) => {
    if (node.line) (byLine.get(node.line) || byLine.set(node.line, []).get(node.line)).push(number);
    if (node.call !== undefined) (byCall.get(node.call) || byCall.set(node.call, []).get(node.call)).push(number);
  });
  const row = (inside, its, attributes = {}) => {
    const button = make("button", inside, { type: "button", ...attributes });
    button.addEventListener("click", () => page.choose(button.classList.contains("chosen") ? [] : typeof its === "function" ? its() : its, true));
    return button;
  };

  const source = sourceOf(page, byLine, row), { lineRows } = source;

  /** The nodes of a call and of those in it. */
  const inCall = (number) => {
    const its = new Set([number]), found = [];
    for (let at = number; at < calls.length; at += 1) if (at === number || its.has(calls[at].parent)) { its.add(at); found.push(...(byCall.get(at) || [])); }
    return found;
  };
  const children = new Map();
  calls.forEach((call, number) => { const key = call.parent === null ? -1 : call.parent; (children.get(key) || children.set(key, []).get(key)).push(number); });
  const callRows = new Map();
  /** The branches of a call are made when it is opened. */
  const grow = (inside, parent) => {
    const its = children.get(parent) || [];
    for (const number of its.slice(0, MOST)) {
      const call = calls[number], branch = make("div", inside, { class: "branch" });
      const several = children.has(number), inner = several ? make("div", null, { hidden: "" }) : null;
      const sign = make(several ? "button" : "span", branch, several ? { type: "button", class: "twig", "aria-expanded": "false", "aria-label": `What is in ${call.title}`, title: "Show or hide what is in it" } : { class: "twig" }, several ? "▸" : "");
      const button = row(branch, () => inCall(number), { title: call.parameters ? `${call.parameters.toLocaleString("en")} parameters` : "No parameters" });
      button.textContent = call.title;
      callRows.set(number, button);
      if (!several) continue;
      branch.append(inner);
      const unfold = () => {
        if (!inner.childNodes.length) grow(inner, number);
        inner.hidden = !inner.hidden;
        sign.setAttribute("aria-expanded", String(!inner.hidden));
        sign.textContent = inner.hidden ? "▸" : "▾";
      };
      sign.addEventListener("click", unfold);
      if (parent === -1 && its.length < 4) unfold();
    }
    if (its.length > MOST) make("p", inside, {}, `and ${(its.length - MOST).toLocaleString("en")} more`);
  };
  grow(get("tree"), -1);
  get("modules-pane").hidden = !calls.length;

  const numbers = [];
  /** The value of a result or a leaf beside its name, if it is short. */
  const refresh = () => {
    for (const [told, number, nr] of numbers) {
      const value = nodes[number].value || "", own = value.startsWith("#") ? value.split(/^(?=#\d+ )/m).filter((part) => part.startsWith(`#${nr} `)).join("").replace(/^#\d+ /, "") : value;
      const words = own.trim().replace(/\s+/g, " ");
      told.textContent = words && words.length <= 24 ? ` = ${words}` : "";
    }
    source.refresh();
  };
  const named = (title, its) => {
    if (!its.length) return;
    make("h2", get("names"), {}, title);
    for (const [name, number, nr = 0] of its.slice(0, MOST)) {
      const button = row(get("names"), [number], { title: "Show its box" });
      make("b", button, {}, name);
      const told = make("i", button);
      numbers.push([told, number, nr]);
      make("small", button, {}, ((nodes[number].shape || "").match(/\[[^\]]*\]/g) || [])[nr] || "");
      (rows.get(number) || rows.set(number, []).get(number)).push(button);
    }
    if (its.length > MOST) make("p", get("names"), {}, `and ${(its.length - MOST).toLocaleString("en")} more`);
  };
  const all = [...nodes.entries()].slice(0, ran), listed = (kind) => all.filter(([, node]) => node.kind === kind).map(([number, node]) => [(node.names || [])[0] || node.title, number]);
  named("Results", roots);
  named("Leaves, with a gradient", listed("leaf"));
  named("Inputs, without one", listed("input"));
  for (const formula of formulas) make("p", get("formulas"), { class: "formula" }, formula);
  get("formulas-pane").hidden = !formulas.length;

  const lines = (numbers) => new Set(numbers.map((number) => nodes[number].line).filter((line) => lineRows.has(line)));
  /** Mark a line as the one that something happened at, and scroll to it. */
  const mark = (key) => {
    for (const line of source.lines.values()) line.classList.remove("now");
    const line = source.lines.get(key);
    if (line) { line.classList.add("now"); line.scrollIntoView({ block: "nearest" }); }
  };
  refresh();
  return {
    refresh,
    at: (number) => mark(number === undefined ? undefined : nodes[number].line),
    line: mark,
    /** Scroll to the first line that made something, when the source is first seen. */
    start: once(() => {
      const [first] = lineRows.values(), source = get("source");
      if (first) source.scrollTop = first.getBoundingClientRect().top - source.getBoundingClientRect().top - 90;
      return true;
    }),
    /** Mark what is chosen here as in the picture. */
    choose: (numbers, kin) => {
      const own = lines(numbers), its = lines(kin), call = numbers.length === 1 ? nodes[numbers[0]].call : undefined;
      for (const [key, line] of lineRows) { line.classList.toggle("chosen", own.has(key)); line.classList.toggle("linked", its.has(key) && !own.has(key)); }
      for (const [number, buttons] of rows) for (const button of buttons) { button.classList.toggle("chosen", numbers.includes(number)); button.classList.toggle("linked", kin.includes(number)); }
      for (const [number, button] of callRows) button.classList.toggle("chosen", number === call);
      const first = [...own][0];
      if (first && matchMedia("(min-width: 701px)").matches) lineRows.get(first).scrollIntoView({ block: "nearest" });
    },
  };
};
