// Search over all nodes, whichever view shows them: names come before operations, modules, and lines; and over the steps of the run.
const searchOf = (page) => {
  const MOST = 60, search = get("search"), hits = get("hits"), list = get("found"), { nodes } = page.data;
  const text = (...parts) => parts.filter(Boolean).join("\n").toLowerCase();
  const FIELDS = { op: (node) => (node.kind === "operation" ? text(node.op, node.title) : ""), module: (node) => text(node.module), line: (node) => text(node.line), shape: (node) => text(node.shape) };
  const last = (where) => where.slice(where.lastIndexOf(":") + 1);
  const fits = (node, [field, words]) => (field === "line" && /^\d+$/.test(words) ? last(node.line || "") === words : FIELDS[field](node).includes(words));
  /** How well a node fits, the best at 0; -1 if it does not. */
  const rank = (node, number, words) => {
    if (!words) return 0;
    const names = (node.names || []).map((name) => name.toLowerCase());
    if (names.includes(words)) return 0;
    if (names.some((name) => name.startsWith(words))) return 1;
    if (names.some((name) => name.includes(words))) return 2;
    if (FIELDS.op(node).includes(words)) return 3;
    if (text(node.module).includes(words)) return 4;
    return page.details.text(number).includes(words) ? 5 : -1;
  };
  /** The steps on this page that fit, which are told by their words. */
  const stepsOf = (filters, words) => {
    const asked = filters.filter(([field]) => field === "step"), { steps = [] } = page.data;
    if (filters.length > asked.length || (words && !asked.length && words.length < 3)) return [];
    return steps.filter((step) => page.scrubber.has(step.n) && step.words.toLowerCase().includes(words) && asked.every(([, its]) => String(step.n) === its));
  };
  let found = [], at = -1;
  let sought = "";
  const seek = () => {
    if (search.value === sought) return;
    sought = search.value;
    const filters = [], plain = search.value.trim().replace(/\b(op|module|line|shape|step):(\[[^\]]*\]?|\S+)/gi, (all, field, words) => { filters.push([field.toLowerCase(), words.toLowerCase()]); return ""; }).trim().toLowerCase();
    found = [];
    if (plain || filters.length) {
      const ranked = [[], [], [], [], [], []];
      nodes.forEach((node, number) => {
        const how = !filters.some(([field]) => field === "step") && filters.every((filter) => fits(node, filter)) ? rank(node, number, plain) : -1;
        if (how >= 0) ranked[how].push(number);
      });
      found = [...ranked.flat(), ...stepsOf(filters, plain)];
    }
    at = -1;
    hits.textContent = search.value.trim() ? String(found.length) : "";
    page.view.find(found.filter(Number.isInteger));
    list.replaceChildren();
    for (const [turn, number] of found.slice(0, MOST).entries()) {
      const node = nodes[number] || {}, row = make("li", list, { role: "option", id: "hit" + turn, "aria-selected": "false" }, number.words || (node.names || [])[0] || node.title);
      make("small", row, {}, [node.kind === "operation" ? node.title : node.kind, node.module, node.line].filter(Boolean).join(" · "));
      row.addEventListener("pointerdown", (event) => { event.preventDefault(); at = turn; go(); unfold(false); });
    }
    if (found.length > MOST) make("li", list, { role: "option", "aria-disabled": "true", "aria-selected": "false" }, `and ${found.length - MOST} more`);
    unfold(found.length > 0 && document.activeElement === search); // a link asks for no list
  };
  const unfold = (open) => { list.hidden = !open; search.setAttribute("aria-expanded", String(open)); };
  const go = () => {
    hits.textContent = `${at + 1}/${found.length}`;
    for (const [turn, row] of [...list.children].entries()) row.setAttribute("aria-selected", String(turn === at));
    search.setAttribute("aria-activedescendant", "hit" + at);
    if (list.children[at]) list.children[at].scrollIntoView({ block: "nearest" });
    if (found[at].words) page.scrubber.go(found[at].n); else page.choose([found[at]], true);
  };
  const next = (by) => { if (found.length) { at = (at + by + found.length) % found.length; go(); } };
  search.addEventListener("input", soon(seek, nodes.length > 5000 ? 120 : 0));
  search.addEventListener("blur", () => unfold(false));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { seek(); next(event.shiftKey ? -1 : 1); unfold(false); }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); unfold(found.length > 0); next(event.key === "ArrowDown" ? 1 : -1); }
    if (event.key === "Escape") { search.value = ""; seek(); search.blur(); page.choose([]); }
  });
  return { next, film: (view) => view.find(found.filter(Number.isInteger)), focus: () => search.focus() };
};
