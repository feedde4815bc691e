// The page: its tabs, what is chosen in all of them, details, links and keys.
bootOf((data, boot) => {
  const STEPS = "steps", MOST = 300, WORDS = { forward: "Forward", backward: "Backward", "double-backward": "All orders" };
  const KEYS = { "click": "what a box hangs on, in every view", "wheel, pinch": "nearer: a closed module opens; farther: the innermost close", "double click": "open a closed module", "title": "close a module", "/": "search; n, p: the next, the one before", "+ −": "zoom; arrows move", "0, Fit": "what can be read of it; again: all of it", "[ ]": "close, open modules; u: undo", "1 2": "forward, backward", "3 … 7": "order 1, 2, …", "8 9": "all orders, step by step", "space": "play; comma, dot: a moment", "< >": "the step of the run before, after", "Tab, Enter": "from box to box, choose it", "Esc": "choose nothing", "i": "what a backward ran", "\\": "the panes", "?": "these keys" };
  const frame = get("picture"), pictures = get("pictures").querySelectorAll("template"), insides = get("insides").querySelectorAll("template");
  const narrow = matchMedia("(max-width: 700px)"), small = () => narrow.matches;
  const page = { data, boot, details: detailsOf(data), view: null, camera: cameraOf(frame), chosen: [], marks: new Map(), changed: null, apart: null };
  const { nodes } = data;
  /** The nodes that the backward of each made, looked for when they are first asked for. */
  const children = once(() => {
    const found = new Map();
    nodes.forEach(({ parent }, number) => { if (parent !== undefined) (found.get(parent) || found.set(parent, []).get(parent)).push(number); });
    return found;
  });

  // ---------------------------------------------------------------- tabs

  const views = new Map(), indexOf = (key) => data.views.findIndex((told) => told.key === key);
  /** How a tab may be seen as well, by the end of its key. */
  const ENDS = { ".data": ["Flow", "gradient flow", "data flow"], ".aten": ["Boxes", "as written", "each operation"] }, wanted = new Map();
  const endOf = (tab) => Object.keys(ENDS).find((end) => indexOf(tab + end) >= 0), keyOf = (tab) => (wanted.get(endOf(tab)) ? tab + endOf(tab) : tab);
  const numberOf = (key) => ({ forward: 1, backward: 2, "double-backward": 8, [STEPS]: 9 })[key] || 2 + Number(key.slice(6));
  const tabOf = (key) => key.replace(/\.(data|aten)$/, ""), keys = data.views.map((told) => told.key).map(tabOf).filter((key, place, all) => all.indexOf(key) === place).concat(STEPS);
  const tabs = new Map(keys.map((key, place) => {
    const words = WORDS[key] || (key === STEPS ? "Step by step" : `Order ${key.slice(6)}`);
    const tab = make("button", get("tabs"), { type: "button", role: "tab", id: "tab-" + key, "aria-controls": "stage", title: `${words} ( ${numberOf(key)} )` }, words);
    tab.addEventListener("click", () => turn(key));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) { const next = keys[(place + by + keys.length) % keys.length]; turn(next); tabs.get(next).focus(); event.stopPropagation(); }
    });
    return [key, tab];
  }));
  let current = "";
  const arrange = () => { page.camera.size(page.view.arrange()); map.survey(); colour.film(page.view); };
  /** Show a tab, with derivatives as was chosen. */
  const turn = (key) => show(keyOf(key));
  const show = (key) => {
    if (key === current) return;
    if (key === STEPS && !page.view) show(data.first);
    for (const [other, tab] of tabs) { tab.setAttribute("aria-selected", String(other === tabOf(key))); tab.tabIndex = other === tabOf(key) ? 0 : -1; }
    get("stage").setAttribute("aria-labelledby", "tab-" + tabOf(key));
    get("stage").removeAttribute("aria-label");
    document.title = `${data.title} · ${tabs.get(tabOf(key)).textContent}`;
    get("viewed").textContent = ` · ${tabs.get(tabOf(key)).textContent}`;
    if (page.view) page.view.from = { ...page.camera.eye };
    const table = key === STEPS;
    get("table").hidden = !table;
    for (const id of ["picture", "map", "time", "colours", "close", "open", "out", "in", "fit", "svg", "png", "pdf"]) get(id).hidden = table;
    if (table) get("scale").hidden = true;
    current = key;
    const end = endOf(tabOf(key));
    get("flows").hidden = !end;
    if (end) {
      const [title, ...words] = ENDS[end];
      get("flow").setAttribute("aria-label", title);
      get("flow").replaceChildren();
      for (const [turn, value] of ["", end].entries()) make("option", get("flow"), { value }, words[turn]);
      get("flow").value = key.endsWith(end) ? end : "";
      wanted.set(end, key.endsWith(end));
    }
    if (table) { steps.show(); page.choose(page.chosen); link(); return; }
    const number = indexOf(key), told = data.views[number];
    let view = views.get(key);
    if (!view) {
      const svg = pictures[number].content.querySelector("svg");
      frame.replaceChildren(svg);
      svg.setAttribute("role", "group");
      svg.setAttribute("aria-label", `${tabs.get(tabOf(key)).textContent}: ${data.title}`);
      svg.querySelector("title").remove();
      view = viewOf(told, svg, page);
      views.set(key, view);
      zoom.fit(view);
    } else if (view !== page.view) frame.replaceChildren(view.svg);
    page.view = view;
    const size = view.arrange();
    page.camera.film(view.svg, size, view.from);
    if (!view.from) start(view);
    for (const id of ["close", "open"]) get(id).hidden = !view.modules.frames.length;
    search.film(view);
    colour.film(view);
    play.film(view);
    marking(view);
    page.choose(page.chosen);
    const [seen] = view.svg.querySelectorAll(".box.chosen:not(.gone), .box.linked:not(.gone)");
    if (seen) page.camera.keep(seen);
    map.survey();
    link();
    linked.turned(tabOf(key));
  };
  /** Look at it from its upper end, with its first box. */
  const start = (view) => {
    const around = view.svg.getBoundingClientRect(), seen = [...view.boxes.values(), ...view.modules.frames.map((module) => module.shut)].map((element) => element.getBoundingClientRect()).filter((at) => at.width);
    const first = seen.length ? seen.reduce((a, b) => (b.top < a.top ? b : a)) : around;
    page.camera.start((first.left + first.width / 2 - around.left) / page.camera.eye.scale);
  };
  /** What can be read of it; if that is what is seen, all of it. */
  const fit = () => {
    if (page.camera.home() && !page.view.folds.size) return page.camera.fit();
    if (page.view.modules.frames.length) { zoom.remember(); zoom.fit(page.view); zoom.settle(); }
    start(page.view);
  };
  page.turn = (key) => { if (tabs.has(key)) turn(key); };
  /** Mark nodes in all views by a class. */
  page.mark = (name, numbers) => { page.marks.set(name, numbers); for (const view of views.values()) marking(view); };
  const marking = (view) => {
    for (const [name, numbers] of page.marks) {
      view.clear(name);
      for (const number of numbers) for (const id of view.boxesOf.get(number) || []) view.boxes.get(id).classList.add(name);
    }
    view.mark();
  };

  // ---------------------------------------------------------------- what is chosen, and details

  let alone = null; // the chosen box, where it shows no node: a result, a closed module
  const kinOf = (numbers) => {
    const own = new Set(numbers), found = new Set();
    for (const number of numbers) for (const other of [nodes[number].parent, ...(children().get(number) || [])]) if (other !== undefined && !own.has(other)) found.add(other);
    return [...found];
  };
  const told = (id) => page.view.told.boxes[id] || page.view.told.frames[id];
  const tellBox = (id) => {
    const box = told(id);
    get("name").textContent = box.title;
    if (box.node === undefined) get("text").textContent = box.text || "";
    else page.details.write(get("text"), box.node, box.text);
  };
  const tell = () => {
    const { chosen } = page, module = alone && page.view.modules.frameOf.get(alone), one = chosen.length === 1;
    const fold = alone && page.view.folds.has(alone);
    get("toggle").hidden = !module && !fold;
    get("toggle").textContent = fold ? "Open it" : module && module.closed ? "Open the module" : "Close the module";
    get("look").hidden = insideOf() === undefined;
    get("kin").replaceChildren();
    if (alone) { tellBox(alone); const { node } = told(alone); if (chosen.includes(node)) run.node(get("text"), node, chosen); return; }
    get("name").textContent = one ? nodes[chosen[0]].title : chosen.length ? `${chosen.length} nodes` : data.title;
    if (chosen.length > 1) get("text").textContent = chosen.slice(0, 40).map((number) => `%${number} ${nodes[number].name}`).join("\n") + (chosen.length > 40 ? "\n…" : "");
    else if (one) { page.details.write(get("text"), chosen[0]); run.node(get("text"), chosen[0]); }
    else {
      get("text").textContent = page.view.told.about;
    }
    if (!one) return;
    for (const number of kinOf(chosen).slice(0, 20)) {
      const made = nodes[number].parent === chosen[0], title = nodes[number].name;
      const button = make("button", get("kin"), { type: "button", title: made ? "What its backward made: one order higher" : "What it is a derivative of" }, (made ? "∂ → " : "∂ of ") + title);
      button.addEventListener("click", () => page.choose([number], true));
    }
  };
  page.point = (id) => { if (page.chosen.length || alone) return; if (id === null) tell(); else tellBox(id); };
  /** Choose nodes, in every view; `go` to the first of them that this view shows. */
  page.choose = (numbers, go = false, box = null) => {
    page.chosen = numbers;
    const { view } = page, around = numbers.length > 1 ? [...new Set(numbers.flatMap((number) => view.boxesOf.get(number) || []))] : [];
    alone = box || (around.length === 1 ? around[0] : null);
    const kin = kinOf(numbers), shown = (its) => its.flatMap((number) => view.boxesOf.get(number) || []);
    const own = box ? (view.modules.frameOf.get(box) || { boxes: [box] }).boxes : [...new Set(shown(numbers))];
    const seen = box ? own : [...new Set([...own, ...numbers.slice(0, MOST).map(view.folds.over).filter(Boolean)])]; // and closed boxes around them
    const { above, below } = view.light(seen, shown(kin).filter((id) => !own.includes(id)));
    get("hangs").textContent = own.length ? `${above} above, ${below} below` + (kin.length && !box ? `, ${kin.length} linked in other orders` : "") : "";
    if (!own.length && numbers.length) absent(numbers[0]);
    panes.choose(numbers, kin);
    steps.choose(numbers, kin);
    panels.choose(numbers);
    linked.chosen(numbers);
    if (go && numbers.length && current !== STEPS && !(own.length && view.folds.shown(own[0]))) {
      view.folds.reveal(numbers[0]).then((found) => { if (found) { arrange(); page.choose(numbers, true); } });
    } else if (go && own.length && current !== STEPS) {
      if (view.modules.reveal(own[0])) arrange();
      page.camera.goTo(view.seenOf(own[0]));
    }
    tell();
    link();
  };
  /** Say where a node is that has no box here, with what leads there. */
  const absent = (number) => {
    const hangs = get("hangs"), others = new Map(places(number).reverse().map((key) => [tabOf(key), key]));
    if (page.view.folds.find(number)) { hangs.textContent = "inside of a closed box of this view"; return; }
    hangs.textContent = others.size ? "not in this view, but in: " : "not in this view";
    for (const [tab, key] of [...others].reverse()) {
      const end = endOf(tab), words = tabs.get(tab).textContent + (tab === tabOf(current) ? `, ${ENDS[end][key.endsWith(end) ? 2 : 1]}` : "");
      make("button", hangs, { type: "button", title: "Show it there" }, words).addEventListener("click", () => { show(key); page.choose(page.chosen, true); });
    }
  };
  /** The views that show a node. */
  const places = (number) => data.views.filter((its) => Object.entries(its.boxes).some(([id, box]) => nodesIn(id, box).includes(number)) || Object.values(its.folds).some(([, , ...runs]) => within(runs, number))).map((its) => its.key);
  page.chooseBox = (id) => {
    const { node, outside } = told(id) || {}, same = alone === id || (!alone && page.chosen.length === 1 && page.chosen[0] === node && id[0] !== "r");
    if (outside !== undefined) page.choose([outside], true);
    else if (same) page.choose([]);
    else if (node === undefined || id[0] === "r" || told(id).text || told(id).also) page.choose(id[0] === "r" ? [node] : page.view.nodesOf(id), false, id);
    else page.choose([node]);
  };
  frame.addEventListener("click", (event) => {
    if (page.camera.moved > 6 || event.target.closest(".sign, .module:not(.box) > text")) return;
    const box = event.target.closest(".box");
    if (box) page.chooseBox(box.id.replace("shut_", "")); else page.choose([]);
  });

  // ---------------------------------------------------------------- modules

  page.toggle = (module) => {
    const of = () => (module.closed ? module.shut : module.element).getBoundingClientRect();
    const before = of();
    zoom.remember();
    module.closed = !module.closed;
    zoom.settle();
    const after = of();
    page.camera.move((after.left + after.right - before.left - before.right) / 2, after.top - before.top);
    (module.closed ? module.shut : module.sign).focus({ preventScroll: true });
  };
  const level = (close) => {
    if (!page.view.modules.frames.length) return;
    zoom.remember();
    page.view.modules.all(close);
    zoom.settle();
    start(page.view);
  };
  for (const id of ["close", "open"]) get(id).addEventListener("click", () => level(id === "close"));
  get("toggle").addEventListener("click", () => { if (page.view.folds.has(alone)) page.toggleFold(alone); else page.toggle(page.view.modules.frameOf.get(alone)); });
  page.toggleFold = async (id) => {
    const { view, camera } = page, before = view.folds.drawn(id).getBoundingClientRect();
    zoom.remember(view);
    await view.folds.toggle(id);
    zoom.settle();
    colour.film(view);
    const drawn = view.folds.drawn(id), after = drawn.getBoundingClientRect();
    camera.move((after.left + after.right - before.left - before.right) / 2, after.top - before.top);
    (drawn.querySelector(".sign") || drawn).focus({ preventScroll: true });
  };

  // ---------------------------------------------------------------- inside a backward

  const help = () => {
    const list = get("keys-list");
    if (!list.childNodes.length) for (const [key, does] of Object.entries(KEYS)) { make("dt", list, {}, key); make("dd", list, {}, does); }
    get("keys").showModal();
  };
  const inside = get("inside");
  const insideOf = () => {
    const [box] = page.chosen.length === 1 ? page.view.boxesOf.get(page.chosen[0]) || [] : [];
    return page.view.told.insides[box];
  };
  const open = () => {
    if (insideOf() === undefined) return;
    const picture = insides[insideOf()].content.cloneNode(true);
    for (const element of picture.querySelectorAll("[id]")) element.removeAttribute("id");
    get("ran").replaceChildren(picture);
    inside.showModal();
  };
  get("look").addEventListener("click", open);
  get("back").addEventListener("click", () => inside.close());

  // ---------------------------------------------------------------- links: #view=backward&node=12

  let following = false, address = location.hash;
  /** Write the place into the address, but not over one that is still to be followed. */
  const link = () => {
    if (following || location.hash !== address) return;
    const parts = [`view=${current}`];
    if (scrubber.several) parts.push(`step=${data.number}`);
    parts.push(...place.told(play));
    if (location.protocol !== "about:") { history.replaceState(null, "", "#" + parts.join("&")); address = location.hash; }
    else if (name === "autograph") parent.postMessage({ autograph: 1, place: parts.join("&") }, "*"); // a widget, which shows the next page there
  };
  page.camera.onsize = () => { if (page.view) { zoom.refit(page.view); start(page.view); } };
  page.link = soon(link, 300);
  const given = document.querySelector("meta[name=place]");
  const follow = async () => {
    address = location.hash;
    const asked = new URLSearchParams(location.hash.slice(1) || (given && given.content) || ""), key = asked.get("view");
    const chosen = asked.has("node") ? place.numbers(asked.get("node")) : [], step = Number(asked.get("step"));
    if (current && step && step !== data.number && scrubber.has(step)) { const { hash } = location; scrubber.go(step).then(() => { location.hash = hash; }); return; }
    following = true;
    try {
      show(indexOf(key) >= 0 || key === STEPS ? key : current || data.first);
      await place.follow(asked, play, zoom);
      if (chosen.length || page.chosen.length) page.choose(chosen, chosen.length > 0 && !asked.has("eye"));
    } finally { following = false; }
    link();
  };
  boot.listen("hashchange", follow);

  // ---------------------------------------------------------------- buttons and keys

  const panes = panesOf(page), panels = panelsOf(page), steps = stepsOf(page), search = searchOf(page), play = playOf(page), colour = colourOf(page), map = minimapOf(page);
  const linked = linkedOf(page), run = runOf(page), scrubber = scrubberOf(page), zoom = zoomOf(page, arrange), place = placeOf(page);
  Object.assign(page, { panes, panels, linked, scrubber, leave: play.halt, recolour: colour.refresh });
  /** Tell anew what another step of this structure has. */
  page.refresh = () => { panes.refresh(); steps.refresh(); run.refresh(); scrubber.refresh(); colour.refresh(); play.film(page.view); tell(); link(); linked.stepped(); };
  splitters();
  panels.start();
  run.refresh();
  copyOf(page);
  page.sourceAt = panes.at;
  page.camera.onmove = () => { map.moved(); page.link(); };
  for (const [id, what] of [["slider", "input"], ["search", "input"], ["colour", "change"]]) get(id).addEventListener(what, page.link);
  const fold = (open) => { get("side").hidden = !open; if (open) panes.start(); get("panes").setAttribute("aria-expanded", String(open)); dispatchEvent(new Event("resize")); };
  get("flow").addEventListener("change", () => { wanted.set(endOf(tabOf(current)), Boolean(get("flow").value)); turn(tabOf(current)); });
  get("panes").addEventListener("click", () => fold(get("side").hidden));
  get("fit").addEventListener("click", fit);
  get("pdf").addEventListener("click", () => print());
  get("help").addEventListener("click", () => help());
  get("shut-keys").addEventListener("click", () => get("keys").close());
  get("in").addEventListener("click", () => larger(1.3));
  get("out").addEventListener("click", () => larger(1 / 1.3));
  get("dark").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    root.classList.toggle("dark", !dark);
    root.classList.toggle("light", dark);
    map.moved();
  });
  const { move, zoom: larger } = page.camera;
  const acts = {
    "/": search.focus, "+": () => larger(1.3), "=": () => larger(1.3), "-": () => larger(1 / 1.3), "0": fit, u: zoom.undo, "?": () => help(), " ": play.toggle,
    ArrowLeft: () => move(-60, 0), ArrowRight: () => move(60, 0), ArrowUp: () => move(0, -60), ArrowDown: () => move(0, 60),
    "<": () => scrubber.by(-1), ">": () => scrubber.by(1), n: () => search.next(1), p: () => search.next(-1), ",": () => play.step(-1), ".": () => play.step(1),
    "[": () => level(true), "]": () => level(false), "\\": () => fold(get("side").hidden), i: open, Escape: () => page.choose([]),
  };
  boot.listen("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || inside.open || get("keys").open || event.target.matches("input, select") || (event.target.matches("button, summary") && [" ", "Enter"].includes(event.key))) return;
    const key = keys.find((key) => String(numberOf(key)) === event.key), act = acts[event.key] || (key && (() => turn(key)));
    if (act && !(current === STEPS && event.key.startsWith("Arrow"))) { event.preventDefault(); act(); }
  });
  fold(!small());
  narrow.addEventListener("change", () => fold(!small()));
  follow();
  linked.stepped();
});
