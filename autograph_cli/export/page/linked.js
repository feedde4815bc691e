// Where two runs stand beside each other, each in a frame: what is chosen in one is chosen in the other, and the numbers of
// the other one's node stand beside those of this one.
const linkedOf = (page) => {
  const { data, boot } = page, { nodes } = data, inside = data.side !== undefined && parent !== window;
  const FACTS = ["tensors", "value", "gradient", "times"];
  let heard = false, waiting = null;
  const post = (message) => { if (inside) parent.postMessage({ autograph: 1, step: data.number, ...message }, "*"); };
  /** Tell what was done here, and not what the other side has asked for. */
  const tell = (message) => { if (!heard) post(message); };
  const write = (place, its) => {
    place.replaceChildren();
    if (!its.found) { make("p", place, {}, `It has no like in ${data.other}.`); return; }
    make("h3", place, {}, `In ${data.other}`);
    const list = make("dl", place);
    for (const fact of FACTS) if (its[fact]) { make("dt", list, {}, { tensors: "tensor", times: "time" }[fact] || fact); make("dd", list, {}, its[fact].replace(/^grad /, "")); }
  };
  const known = (numbers) => numbers.filter((number) => nodes[number]);
  if (inside) boot.listen("message", ({ source, data: message }) => {
    if (source !== parent || !message || message.autograph !== 1) return;
    if (message.hello) post(page.chosen.length ? { choose: page.chosen } : {}); // what was chosen before it was heard
    heard = true;
    if (message.step !== undefined) page.scrubber.go(message.step);
    if (message.view !== undefined) page.turn(message.view);
    if (message.hand) page.camera.follow(message.hand);
    if (message.marks) for (const [name, numbers] of Object.entries(message.marks)) page.mark(name, known(numbers));
    if (message.apart) { page.apart = new Map(message.apart); page.recolour(); }
    if (message.choose) page.choose(known(message.choose), true);
    if (message.other && waiting && waiting.number === message.other.node) write(waiting.place, message.other);
    if (message.ask !== undefined && nodes[message.ask]) post({ answer: Object.fromEntries(FACTS.map((fact) => [fact, (nodes[message.ask][fact] || "").replace(/^%(?=:|\.)/gm, `%${message.ask}`)])) });
    heard = false;
  });
  page.camera.onhand = (hand) => post({ hand });
  return {
    chosen: (numbers) => tell({ choose: numbers }),
    turned: (view) => tell({ view }),
    /** Tell which step is shown, whoever asked for it. */
    stepped: () => post({}),
    /** Write what the other run has of a node. */
    other: (place, number) => {
      if (!inside) return;
      waiting = { place, number };
      post({ ask: number });
    },
  };
};
