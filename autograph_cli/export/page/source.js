// The script, coloured, with what was seen at each line: how many boxes, values, bytes kept for backward, time.
const sourceOf = (page, byLine, row) => {
  const { sources, nodes, kept } = page.data, lineRows = new Map(), all = new Map(), marks = new Map(), choice = get("marks"), MOST = 36;
  const NAMES = { k: "keyword", s: "string", c: "comment", m: "number", b: "builtin", f: "name" };
  /** Text that may be broken after a dot, a bracket or a comma. */
  const fill = (inside, text) => text.split(/(?<=[.,(\[{=])/).forEach((part, place) => { if (place) make("wbr", inside); inside.append(part); });
  /** The text of a line, in runs of one colour. */
  const write = (inside, text, runs) => {
    const letters = [...(text || " ")];
    let at = 0;
    for (const [, kind, length] of (runs || "").matchAll(/(\D)(\d+)/g)) {
      const words = letters.slice(at, (at += Number(length))).join("");
      fill(NAMES[kind] ? make("span", inside, { class: "of-" + NAMES[kind] }) : inside, words);
    }
    fill(inside, letters.slice(at).join(""));
  };
  for (const [file, lines] of Object.entries(sources)) {
    make("h2", get("source"), {}, file);
    const code = make("ol", get("source"), { class: "code" });
    let before = 0;
    for (const [number, text, runs] of lines) {
      const key = `${file}:${number}`, item = make("li", code), its = byLine.get(key);
      if (before && number > before + 1) item.classList.add("gap");
      before = number;
      const line = its ? row(item, its, { title: `${its.length} ${its.length === 1 ? "node" : "nodes"}: ${its.slice(0, 6).map((node) => nodes[node].title).join(", ")}${its.length > 6 ? ", …" : ""}` }) : make("span", item);
      make("small", line, {}, String(number));
      write(make("code", line), text, runs);
      all.set(key, line);
      if (its) { lineRows.set(key, line); marks.set(key, make("em", line, { class: "mark" })); }
    }
  }
  get("source-pane").hidden = !Object.keys(sources).length;
  const time = (count) => (count < 1e6 ? `${(count / 1e3).toFixed(1)} µs` : `${(count / 1e6).toFixed(2)} ms`);
  const KINDS = {
    value: (its) => {
      const seen = its.filter((number) => nodes[number].value && nodes[number].kind !== "input"), last = seen[seen.length - 1];
      if (last === undefined) return "";
      const words = page.details.inLine(last);
      return words && `${page.details.called(last)} = ${words.length > MOST ? words.slice(0, MOST) + "…" : words}`;
    },
    bytes: (its, key) => (kept[key] ? `${page.details.bytes(kept[key])} kept` : ""),
    time: (its) => { const sum = its.reduce((all, number) => all + (nodes[number].time || 0), 0); return sum ? time(sum) : ""; },
  };
  const refresh = () => {
    for (const [key, mark] of marks) {
      const its = byLine.get(key), told = choice.value === "none" ? [] : choice.value === "all" ? Object.values(KINDS).map((tell) => tell(its, key)) : [KINDS[choice.value](its, key)];
      mark.textContent = told.filter(Boolean).join(" · ");
    }
  };
  choice.addEventListener("change", refresh);
  refresh();
  return { lineRows, lines: all, refresh };
};
