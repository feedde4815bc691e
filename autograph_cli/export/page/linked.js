// Where two runs stand beside each other, each in a frame: what is chosen in one is chosen in the other, and the numbers of
// the other one's node stand beside those of this one.
const linkedOf = (page) => {
  const { data, boot } = page, { nodes } = data, inside = data.side !== undefined && parent !== window;
  const FACTS = ["tensors", "value", "gradient", "times"];
  let heard = false, waiting = null;
  const tell = (message) => { if (inside && !heard) parent.postMessage({ autograph: 1, ...message }, "*"); };
  const write = (place, its) => {
    place.replaceChildren();
    if (!its) { make("p", place, {}, `It has no like in ${data.otherName}.`); return; }
    make("h3", place, {}, `In ${data.otherName}`);
    const list = make("dl", place);
    for (const fact of FACTS) if (its[fact]) { make("dt", list, {}, { tensors: "tensor", times: "time" }[fact] || fact); make("dd", list, {}, its[fact].replace(/^grad /, "")); }
  };
  if (inside) boot.listen("message", async ({ source, data: message }) => {
    if (source !== parent || !message || message.autograph !== 1) return;
    heard = true;
    try {
      if (message.step !== undefined) await page.scrubber.go(message.step);
      if (message.view !== undefined) page.turn(message.view);
      if (message.choose) page.choose(message.choose.filter((number) => nodes[number]), true);
      if (message.first) page.firstApart();
      if (message.other && waiting) write(waiting, message.other.found ? message.other : null);
    } finally { heard = false; }
    if (message.ask !== undefined && nodes[message.ask]) parent.postMessage({ autograph: 1, answer: Object.fromEntries(FACTS.map((fact) => [fact, nodes[message.ask][fact] || ""])) }, "*");
  });
  return {
    chosen: (numbers) => tell({ choose: numbers, step: data.number }),
    turned: (view) => tell({ view }),
    stepped: () => tell({ step: data.number }),
    /** Write what the other run has of a node. */
    other: (place, number) => {
      if (!inside) return;
      waiting = place;
      parent.postMessage({ autograph: 1, ask: number, step: data.number }, "*");
    },
  };
};
