// The steps of the run: which one is shown, always in words; what happened beside operations in it, as a lane; and what
// changed since another step.
const scrubberOf = (page) => {
  const { data, boot } = page, { steps = [], changes, nodes } = data, MOST = 12, words = get("step-words"), slider = get("at-step"), since = get("since");
  const places = steps.map((step, place) => place).filter((place) => steps[place].page >= 0), here = () => steps[data.place];
  const left = steps.length - places.length;
  get("steps").hidden = !here();
  for (const id of ["step-back", "step-on", "at-step"]) get(id).hidden = places.length < 2;
  get("since-label").hidden = places.length < 2;
  const leaves = once(() => {
    const found = new Map();
    nodes.forEach((node, number) => { if (node.kind === "leaf") for (const name of node.names || []) found.set(name, number); });
    return found;
  });
  const tell = () => {
    const its = here(), lane = get("lane");
    if (!its) return;
    slider.max = places.length - 1;
    slider.value = places.indexOf(data.place);
    slider.setAttribute("aria-valuetext", its.words);
    words.textContent = its.words + (its.passes.length > 1 ? `; ${its.passes.length} passes` : "") + (left ? `; ${left} kept step${left === 1 ? " is" : "s are"} not on this page (--step N)` : "");
    words.title = [its.words, ...its.passes].join("\n");
    lane.replaceChildren();
    for (const each of [...its.lane, ...((data.run || {}).hooks || []).map((hook) => ({ ...hook, beside: true }))]) {
      const item = make("li", lane), names = (each.names || []).filter((name) => leaves().has(name));
      const button = make("button", item, { type: "button", class: `at-${each.kind}` + (each.beside ? " beside" : ""), title: each.words });
      make("b", button, {}, each.kind);
      if (each.about) make("span", button, {}, each.about);
      if (each.line) make("small", button, {}, each.line.replace(/.*:/, ""));
      button.addEventListener("click", () => {
        say(each.words);
        page.panes.line(each.line);
        if (names.length) page.choose(names.map((name) => leaves().get(name)));
      });
    }
    lane.hidden = !lane.childNodes.length;
  };
  const goTo = async (place) => {
    if (place === undefined || place === data.place || place < 0) return;
    const kept = { since: since.value, colour: get("colour").value };
    page.leave();
    if (await boot.show(place)) { dispatchEvent(new CustomEvent("autograph-step", { detail: kept })); return; }
    page.refresh();
  };
  const by = (way) => goTo(places[places.indexOf(data.place) + way]);
  // ---------------------------------------------------------------- what changed
  const listed = () => {
    const chosen = since.value;
    since.replaceChildren();
    make("option", since, { value: "" }, "nothing");
    for (const place of places) if (place !== data.place) make("option", since, { value: String(steps[place].n) }, `step ${steps[place].n}`);
    since.value = [...since.options].some((option) => option.value === chosen) ? chosen : "";
  };
  const part = (before, now) => (before === undefined || now === undefined ? (before === now ? 0 : 1) : before === now ? 0 : Math.abs(now - before) / Math.max(Math.abs(now), Math.abs(before)));
  /** A norm, in numbers and in words; what was recorded without one is NaN or infinite in part. */
  const normOf = (fact, what, number, its) => {
    const norm = nodes.fact(fact, number, its);
    return [norm, norm !== undefined ? rounded(norm) : nodes.fact(what, number, its) === undefined ? "" : "no finite norm"];
  };
  /** What differs where the other step ran other operations; told from the earlier structure to the later one. */
  const structure = (its, later, list, row) => {
    const own = later ? its.new : its.likes.flatMap((like, number) => (like < 0 ? [number] : [])), gone = later ? its.likes.filter((like) => like < 0) : its.new;
    if (!own.length && !gone.length && !its.sentences.length) return;
    make("p", list, {}, `It ran other operations: ${own.length} of these nodes are new here, ${gone.length} are gone.` + (later || !its.sentences.length ? "" : " From this step to that one:"));
    for (const line of its.sentences.slice(0, 3 * MOST)) make("p", list, {}, line);
    if (its.sentences.length > 3 * MOST) make("p", list, {}, `and ${its.sentences.length - 3 * MOST} more`);
    if (own.length) row(own, "the nodes that are new here");
    page.mark("differs", own);
  };
  const compare = async () => {
    const place = places.find((each) => String(steps[each].n) === since.value), list = get("changes");
    page.changed = null;
    page.mark("differs", []);
    list.replaceChildren();
    get("changes-pane").hidden = place === undefined;
    get("changes-pane").firstElementChild.textContent = place === undefined ? "Changes" : `Changes since step ${steps[place].n}`;
    if (place === undefined) return page.recolour();
    const row = (numbers, text) => {
      const button = make("button", list, { type: "button", title: "Show its boxes" }, text);
      button.addEventListener("click", () => page.choose(numbers, true));
    };
    const [one, other] = [steps[place].page, here().page], its = changes[`${Math.min(one, other)}-${Math.max(one, other)}`];
    if (one !== other && !its) { make("p", list, {}, "It has another structure; both are too large to be compared on a page."); return page.recolour(); }
    if (one !== other) structure(its, one < other, list, row);
    const [before, now] = await Promise.all([boot.facts(place), boot.facts(data.place)]), rows = [];
    page.changed = new Map();
    nodes.forEach((node, number) => {
      const like = boot.like(number, other, one);
      if (like === undefined) return;
      const found = [["size", "value"], ["norm", "gradient"]].map(([fact, what]) => [what, normOf(fact, what, like, before), normOf(fact, what, number, now)]).filter(([what, [, old], [, young]]) => (old && young) || (what === "gradient" && (old || young)));
      if (!found.length) return;
      const parts = found.map(([what, [old, told], [young, said]]) => [part(old, young), `${what} of ${page.details.called(number)}: ${told || "none recorded"} → ${said || "none recorded"}`, number]);
      page.changed.set(number, Math.max(...parts.map(([size]) => size)));
      rows.push(...parts.filter(([size]) => size > 0));
    });
    rows.sort((a, b) => b[0] - a[0]);
    make("p", list, {}, rows.length ? "Norms that changed most, relative to the larger:" : page.changed.size ? "No norm changed." : "No numbers were recorded: --record values.");
    for (const [, text, number] of rows.slice(0, MOST)) row([number], text);
    if (rows.length > MOST) make("p", list, {}, `and ${(rows.length - MOST).toLocaleString("en")} more; the colour “change” shows all`);
    page.recolour();
  };
  slider.addEventListener("input", soon(() => goTo(places[Number(slider.value)]), 60));
  get("step-back").addEventListener("click", () => by(-1));
  get("step-on").addEventListener("click", () => by(1));
  since.addEventListener("change", compare);
  boot.listen("autograph-step", ({ detail }) => {
    since.value = detail.since;
    if (since.value) compare();
    if ([...get("colour").options].some((option) => option.value === detail.colour)) { get("colour").value = detail.colour; page.recolour(); }
  });
  tell();
  listed();
  return {
    by,
    /** Show the step of this number; says whether it is on the page. */
    go: async (number) => { const place = places.find((each) => steps[each].n === number); if (place === undefined) return false; await goTo(place); return true; },
    has: (number) => places.some((each) => steps[each].n === number),
    several: places.length > 1,
    refresh: () => { tell(); listed(); compare(); },
  };
};
