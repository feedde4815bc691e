// Findings and what was watched of parameters, beside the picture: each lights up the nodes that it is about.
const panelsOf = (page) => {
  const { findings, watched } = page.data, rows = [];
  const row = (inside, nodes, attributes) => {
    const button = make("button", inside, { type: "button", ...attributes });
    button.addEventListener("click", () => page.choose(button.classList.contains("chosen") ? [] : nodes, true));
    rows.push([button, nodes]);
    return button;
  };
  for (const one of findings) {
    const item = make("div", get("findings"), { class: "finding" });
    const button = row(item, one.nodes, one.nodes.length ? { title: "Show the nodes that it is about" } : { disabled: "" });
    make("b", button, {}, one.code);
    make("small", button, {}, one.line);
    make("span", button, {}, one.said);
    const more = make("details", item);
    make("summary", more, {}, "why, and what to do");
    for (const fact of one.facts) make("p", more, {}, fact);
    make("p", more, {}, one.reason);
    make("p", more, { class: "remedy" }, one.remedy);
  }
  get("findings-pane").hidden = !findings.length;
  const draw = (inside, { kind, words, lines, sick }) => {
    const SVG = "http://www.w3.org/2000/svg", svg = document.createElementNS(SVG, "svg");
    const part = (name, attributes) => { const element = document.createElementNS(SVG, name); for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value); svg.append(element); };
    svg.setAttribute("viewBox", "0 0 100 30");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${kind}: ${words}`);
    for (const x of sick) part("path", { d: `M${x},0v30`, class: "sick" });
    for (const [name, points] of Object.entries(lines)) part("polyline", { points, class: name });
    const figure = make("figure", inside, { title: words });
    make("figcaption", figure, {}, kind);
    figure.append(svg);
  };
  for (const one of watched) {
    const button = row(get("watched"), one.nodes, one.nodes.length ? {} : { disabled: "" });
    make("b", button, {}, one.name);
    const drawn = make("div", button, { class: "curves" });
    for (const curve of one.curves) draw(drawn, curve);
  }
  get("watched-pane").hidden = !watched.length;
  return {
    /** Mark what is about the chosen nodes. */
    choose: (numbers) => {
      for (const [button, nodes] of rows) button.classList.toggle("chosen", nodes.length > 0 && nodes.every((number) => numbers.includes(number)) && numbers.length === nodes.length);
    },
  };
};
