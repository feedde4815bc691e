"use strict";
// Two runs beside each other, each a page in a frame of its own that reaches nothing around it. They tell by messages what is
// chosen, and hear what its like is in the other one.
(async () => {
  const get = (id) => document.getElementById(id), written = JSON.parse(get("data").textContent);
  const unpacked = (text) => new Response(new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  const data = await unpacked(written), frames = [...document.querySelectorAll("iframe")];
  let shown = false; // where numbers part, which both are shown at when they are there
  const at = [null, null], waiting = [null, null], asked = [null, null];
  const post = (side, message) => frames[side].contentWindow.postMessage({ autograph: 1, ...message }, "*");
  /** The pair of steps that one side shows, if the other side has a like. */
  const pairOf = (side) => data.steps.find((pair) => pair.steps[side] === at[side]);
  for (const pair of data.steps) pair.likes = [new Map(pair.pairs), new Map(pair.pairs.map(([one, other]) => [other, one]))];
  const say = (words) => { get("said").textContent = words; setTimeout(() => { if (get("said").textContent === words) get("said").textContent = ""; }, 3000); };
  const first = data.steps.find((pair) => pair.parted.some((its) => its.length));
  /** Do something on a side when it shows a step. */
  const within = (side, step, message) => {
    if (at[side] === step) { post(side, message); return; }
    waiting[side] = { step, message };
    post(side, { step });
  };
  const heard = (side, message) => {
    const other = 1 - side;
    if (message.step !== undefined && at[side] !== message.step) {
      at[side] = message.step;
      const pair = pairOf(side);
      post(side, { marks: pair ? { differs: pair.differs[side], parted: pair.parted[side] } : { differs: [], parted: [] }, apart: pair ? pair.apart[side] : [] });
      if (waiting[side] && waiting[side].step === message.step) { post(side, waiting[side].message); waiting[side] = null; }
      if (pair && at[other] !== null && at[other] !== pair.steps[other]) post(other, { step: pair.steps[other] });
    }
    if (!shown && first && at[0] !== null && at[1] !== null) { shown = true; show(); return; }
    const pair = pairOf(side);
    if (message.choose && pair) {
      const its = message.choose.map((number) => pair.likes[side].get(number)).filter((number) => number !== undefined);
      if (message.choose.length && !its.length) say("What was chosen has no like in the other run");
      within(other, pair.steps[other], { choose: its });
    }
    if (message.view !== undefined) post(other, { view: message.view });
    if (message.hand) post(other, { hand: message.hand });
    if (message.ask !== undefined) {
      const like = pair && pair.likes[side].get(message.ask);
      if (like === undefined) post(side, { other: { found: false, node: message.ask } });
      else { asked[other] = message.ask; within(other, pair.steps[other], { ask: like }); }
    }
    if (message.answer && asked[side] !== null) { post(other, { other: { found: true, node: asked[side], ...message.answer } }); asked[side] = null; }
  };
  addEventListener("message", ({ source, data: message }) => {
    const side = frames.findIndex((frame) => frame.contentWindow === source);
    if (side >= 0 && message && message.autograph === 1) heard(side, message);
  });
  get("first").hidden = !first;
  const show = () => { for (const side of [0, 1]) within(side, first.steps[side], { choose: first.parted[side] }); };
  get("first").addEventListener("click", show);
  for (const frame of frames) frame.contentWindow.postMessage({ autograph: 1, hello: 1 }, "*");
})();
