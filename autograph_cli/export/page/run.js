// The right pane: before a box is chosen, the run; after it, beside its facts, what it is made of, who uses it, and how its
// numbers went over the steps.
const runOf = (page) => {
  const { data, boot, details } = page, { nodes, steps = [], run } = data, MOST = 12;
  const pane = (name, filled) => { get(name).hidden = !filled; };
  const chip = (inside, number, title) => {
    const button = make("button", inside, { type: "button", title }, details.called(number));
    button.addEventListener("click", () => page.choose([number], true));
  };
  const near = (inside, words, numbers, title) => {
    if (!numbers.length) return;
    const line = make("p", inside, { class: "near" }, words);
    for (const number of numbers.slice(0, MOST)) chip(line, number, title);
    if (numbers.length > MOST) make("small", line, {}, `and ${(numbers.length - MOST).toLocaleString("en")} more`);
  };
  // ---------------------------------------------------------------- the run
  const step = () => steps[data.place];
  const tellRun = () => {
    const its = step(), told = get("told-run");
    told.replaceChildren();
    if (run) make("p", told, {}, run.words);
    if (its) make("p", told, {}, its.words);
    if (its) for (const line of its.passes) make("p", told, { class: "pass" }, line);
    if (run && run.failure) make("p", told, { class: "failure" }, `It failed: ${run.failure}`);
    const memory = get("memory");
    memory.replaceChildren();
    const list = make("dl", memory);
    for (const [name, words] of its ? its.memory : []) { make("dt", list, {}, name); make("dd", list, {}, words); }
    pane("memory-pane", its && its.memory.length);
  };
  const next = run ? run.next : [];
  for (const [command, words] of next) {
    const line = make("p", get("next"));
    make("code", line, {}, command);
    make("small", line, {}, words);
  }
  pane("next-pane", next.length);
  pane("run-pane", run);
  // ---------------------------------------------------------------- one node
  const alike = (number) => steps.map((each, place) => place).filter((place) => steps[place].page >= 0 && steps[place].kind === step().kind && boot.like(number, step().page, steps[place].page) !== undefined);
  let turn = 0;
  /** How the numbers of a node went over the steps that the same line ended. */
  const history = async (inside, number) => {
    const mine = (turn += 1), places = step() ? alike(number) : [];
    if (places.length < 2) return;
    const all = await Promise.all(places.map((place) => boot.facts(place)));
    if (mine !== turn || !inside.isConnected) return;
    const at = places.indexOf(data.place), from = steps[places[0]].n, to = steps[places[places.length - 1]].n;
    for (const [fact, what] of [["size", "norm of the value"], ["norm", "norm of the gradient"]]) {
      const numbers = all.map((its, turn) => nodes.fact(fact, boot.like(number, step().page, steps[places[turn]].page), its)), last = numbers[at];
      if (numbers.filter((each) => each !== undefined).length < 2) continue;
      curveOf(inside, numbers.map((each) => (each === undefined ? null : each)), at, what, `${last === undefined ? "no finite norm" : rounded(last)} in step ${steps[data.place].n}; from ${rounded(numbers.find((each) => each !== undefined))}, steps ${from} to ${to}`);
    }
  };
  const watchedOf = (number) => data.watched.filter((one) => one.nodes.includes(number));
  return {
    refresh: tellRun,
    /** Tell what is beside the facts of a node. */
    node: (inside, number, parts = []) => {
      const more = make("div", inside, { class: "beside" });
      near(more, "stands for ", parts.length > 1 ? parts : [], "What it is drawn for");
      near(more, "made from ", nodes[number].args || [], "What it was given");
      near(more, "used by ", details.users().get(number) || [], "What was given its result");
      for (const one of watchedOf(number)) page.panels.curves(make("div", more, { class: "curves" }), one);
      history(make("div", more, { class: "histories" }), number);
      page.linked.other(make("div", more, { class: "other" }), number);
    },
  };
};
