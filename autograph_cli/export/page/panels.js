// Findings and what was watched of parameters: each lights up the nodes that it is about.
const panelsOf = (page) => {
  const { findings, watched } = page.data, MOST = 60, rows = [];
  const row = (inside, nodes, attributes, act) => {
    const button = make("button", inside, { type: "button", ...attributes });
    button.addEventListener("click", act || (() => page.choose(button.classList.contains("chosen") ? [] : nodes, true)));
    rows.push([button, nodes]);
    return button;
  };
  const finding = (one, place) => {
    const item = make("div", get("findings"), { class: "finding" }), there = one.step && page.scrubber.has(one.step);
    const go = () => page.scrubber.go(one.step).then(() => dispatchEvent(new CustomEvent("autograph-finding", { detail: place })));
    const title = one.step ? (there ? `Go to step ${one.step}, and show the nodes that it is about` : `It is of step ${one.step}, which is not on this page`) : "Show the nodes that it is about";
    const button = row(item, one.step ? [] : one.nodes, (one.step ? there : one.nodes.length) ? { title } : { disabled: "", title: one.step ? title : "It is about no node" }, one.step ? go : null);
    make("b", button, {}, one.code);
    make("small", button, {}, one.line + (one.step ? ` · step ${one.step}` : ""));
    make("span", button, {}, one.said);
    for (const fact of one.facts) make("p", item, { class: "fact" }, fact);
    const more = make("details", item);
    make("summary", more, {}, "why, and what to do");
    make("p", more, {}, one.reason);
    make("p", more, { class: "remedy" }, one.remedy);
  };
  const draw = (inside, { kind, words, lines, sick }) => {
    const svg = drawn("svg", make("figure", inside, { title: words }), { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img", "aria-label": `${kind}: ${words}` });
    for (const x of sick) drawn("path", svg, { d: `M${x},0v30`, class: "sick" });
    for (const [name, points] of Object.entries(lines)) drawn("polyline", svg, { points, class: name });
    svg.before(make("figcaption", null, {}, Object.keys(lines).length || sick.length ? kind : `${kind}: always 0`));
  };
  const curves = (inside, one) => { for (const curve of one.curves) draw(inside, curve); };
  // ---------------------------------------------------------------- parameters: some at a time, ranked, searched
  const find = get("watched-find"), sort = get("watched-sort");
  const RANKS = { "": () => 0, sick: (one) => -one.sick, most: (one) => -(one.last === null ? -1 : one.last), least: (one) => (one.last === null ? Infinity : one.last) };
  let made = 0, listed = [], before = rows.length;
  const more = () => {
    for (const one of listed.slice(made, (made += MOST))) {
      const button = row(get("watched"), one.nodes, one.nodes.length ? {} : { disabled: "", title: "No leaf of this step" });
      make("b", button, {}, one.name);
      curves(make("div", button, { class: "curves" }), one);
    }
    if (made < listed.length) {
      const rest = make("button", get("watched"), { type: "button" }, `${(listed.length - made).toLocaleString("en")} more`);
      rest.addEventListener("click", () => { rest.remove(); more(); });
    }
  };
  const list = () => {
    const words = find.value.trim().toLowerCase();
    listed = watched.filter((one) => one.name.toLowerCase().includes(words)).sort((a, b) => RANKS[sort.value](a) - RANKS[sort.value](b));
    rows.length = before;
    made = 0;
    get("watched").replaceChildren();
    more();
    if (!listed.length) make("p", get("watched"), {}, "No parameter has this in its name.");
  };
  find.addEventListener("input", soon(list, 80));
  sort.addEventListener("change", list);
  get("watched-pane").hidden = !watched.length;
  get("watched-tools").hidden = watched.length < 4;
  return {
    curves,
    /** List both; what leads to another step knows by then which there are. */
    start: () => {
      findings.forEach(finding);
      get("findings-pane").hidden = !findings.length;
      before = rows.length;
      if (watched.length) list();
      page.boot.listen("autograph-finding", ({ detail }) => page.choose(findings[detail].nodes, true));
    },
    /** Mark what is about the chosen nodes. */
    choose: (numbers) => {
      for (const [button, nodes] of rows) button.classList.toggle("chosen", nodes.length > 0 && nodes.every((number) => numbers.includes(number)) && numbers.length === nodes.length);
    },
  };
};
