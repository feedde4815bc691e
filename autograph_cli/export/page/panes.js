// Beside the picture: the tree of modules, and the results and leaves; what is chosen is marked there and in the source.
const panesOf = (page) => {
  const { nodes, ran, calls, roots, formulas } = page.data;
  const MOST = 400, TURNS = 3; // rows of a list, and calls of one module that have a row each
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
  /** One branch for these calls, the turns of one module; what is in it is made when it is opened. */
  const sprout = (inside, title, its, fill, open) => {
    const branch = make("div", inside, { class: "branch" }), inner = fill ? make("div", null, { hidden: "" }) : null, { parameters } = calls[its[0]];
    const sign = make(fill ? "button" : "span", branch, fill ? { type: "button", class: "twig", "aria-expanded": "false", "aria-label": `What is in ${title}`, title: "Show or hide what is in it" } : { class: "twig" }, fill ? "▸" : "");
    const button = row(branch, () => its.flatMap(inCall), { title: parameters ? `${parameters.toLocaleString("en")} parameters` : "No parameters" });
    button.textContent = title;
    for (const number of its) callRows.set(number, button);
    if (!fill) return;
    branch.append(inner);
    const unfold = () => {
      if (!inner.childNodes.length) fill(inner);
      inner.hidden = !inner.hidden;
      sign.setAttribute("aria-expanded", String(!inner.hidden));
      sign.textContent = inner.hidden ? "▸" : "▾";
    };
    sign.addEventListener("click", unfold);
    if (open) unfold();
  };
  const list = (inside, its, one) => {
    for (const each of its.slice(0, MOST)) one(each);
    if (its.length > MOST) make("p", inside, {}, `and ${(its.length - MOST).toLocaleString("en")} more`);
  };
  const grow = (inside, parent) => {
    const paths = new Map();
    for (const number of children.get(parent) || []) (paths.get(calls[number].path) || paths.set(calls[number].path, []).get(calls[number].path)).push(number);
    const call = (place, number, open) => sprout(place, calls[number].title, [number], children.has(number) && ((inner) => grow(inner, number)), open);
    const shown = [...paths.values()].flatMap((its) => (its.length > TURNS ? [its] : its.map((number) => [number])));
    list(inside, shown, (its) => {
      if (its.length === 1) call(inside, its[0], parent === -1 && shown.length < 4);
      else sprout(inside, `${calls[its[0]].title.replace(/ \(\d+ of \d+\)$/, "")} × ${its.length.toLocaleString("en")}`, its, (inner) => list(inner, its, (number) => call(inner, number)));
    });
  };
  grow(get("tree"), -1);
  get("modules-pane").hidden = !calls.length;

  const numbers = [];
  /** The value of a result or a leaf beside its name, if it is short. */
  const refresh = () => {
    for (const [told, number, nr] of numbers) {
      const words = page.details.ofResult(nodes[number].value || "", nr).replace(/\s+/g, " ");
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
      source.style.height = "auto"; // where it is short, or alone
      if (source.offsetHeight > 0.44 * innerHeight && calls.length + page.data.watched.length) source.style.height = "";
      if (first) source.scrollTop = first.getBoundingClientRect().top - source.getBoundingClientRect().top - 90;
      return true;
    }),
    /** Mark what is chosen here as in the picture. */
    choose: (numbers, kin) => {
      const own = lines(numbers), its = lines(kin), call = numbers.length === 1 ? nodes[numbers[0]].call : undefined;
      for (const [key, line] of lineRows) { line.classList.toggle("chosen", own.has(key)); line.classList.toggle("linked", its.has(key) && !own.has(key)); }
      for (const [number, buttons] of rows) for (const button of buttons) { button.classList.toggle("chosen", numbers.includes(number)); button.classList.toggle("linked", kin.includes(number)); }
      for (const button of callRows.values()) button.classList.remove("chosen");
      if (callRows.has(call)) callRows.get(call).classList.add("chosen");
      const first = [...own][0];
      if (first && matchMedia("(min-width: 701px)").matches) lineRows.get(first).scrollIntoView({ block: "nearest" });
    },
  };
};
