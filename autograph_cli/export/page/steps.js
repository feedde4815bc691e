// The tab that lists what the script did, step by step, with line and numbers; rows are made as they come into sight.
const stepsOf = (page) => {
  const ROWS = 200, { moments, phases, nodes } = page.data, table = get("table"), rows = new Map();
  const alone = Object.keys(page.data.sources).length === 1;
  let made = 0, body = null;
  const more = () => {
    for (const [phase, number, runs] of moments.slice(made, made + ROWS)) {
      const node = nodes[number], line = make("tr", body, { tabindex: "0" });
      made += 1;
      make("td", line, {}, String(made));
      make("td", line, { class: runs ? "runs" : "makes" }, phases[phase]);
      make("th", line, { scope: "row" }, runs ? node.name : node.title);
      make("td", line, {}, (node.names || []).join(", "));
      make("td", line, { class: "line" }, alone ? (node.line || "").replace(/.*:/, "") : node.line || "");
      make("div", make("td", line, { class: "number" }), {}, (runs ? node.gradient || "" : node.value || node.shape || "").replace(/^grad /, "").replace(/\s+/g, " "));
      line.addEventListener("click", () => page.choose(line.classList.contains("chosen") ? [] : [number]));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") page.choose([number]); });
      (rows.get(number) || rows.set(number, []).get(number)).push(line);
    }
    mark();
  };
  let chosen = [], kin = [];
  const mark = () => {
    for (const line of table.querySelectorAll(".chosen, .linked")) line.classList.remove("chosen", "linked");
    for (const [name, its] of [["linked", kin], ["chosen", chosen]]) for (const number of its) for (const line of rows.get(number) || []) line.classList.add(name);
  };
  table.addEventListener("scroll", () => { if (made < moments.length && table.scrollTop + table.clientHeight > table.scrollHeight - 600) more(); });
  return {
    /** Write the rows anew, with the numbers of another step. */
    refresh: () => { if (!body) return; made = 0; rows.clear(); body.replaceChildren(); more(); },
    choose: (numbers, others) => {
      chosen = numbers; kin = others;
      if (!body) return;
      const there = () => numbers.find((number) => rows.has(number));
      while (numbers.length && there() === undefined && made < Math.min(moments.length, 5000)) more();
      mark();
      const first = rows.get(there());
      if (first && !table.hidden) first[0].scrollIntoView({ block: "nearest" });
    },
    show: () => {
      if (body) return;
      const whole = make("table", table), head = make("tr", make("thead", whole));
      for (const title of ["step", "phase", "operation", "names", "line", "shape, value or gradient"]) make("th", head, { scope: "col" }, title);
      body = make("tbody", whole);
      more();
    },
  };
};
