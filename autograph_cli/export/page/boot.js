// Starts the page, and starts it anew for a step of another structure: its parts are then made again from clean ones.
const bootOf = (main) => {
  const PARTS = "body > header, body > main, body > section, body > footer, body > p, body > dialog";
  const clean = [...document.querySelectorAll(PARTS)].map((part) => [part, part.cloneNode(true)]);
  const packs = document.getElementsByClassName("pack"), known = new Map();
  const unpack = (number) => (known.has(number) ? known : known.set(number, unpacked(packs[number].textContent))).get(number);
  let life = new AbortController(), root = null, shown = -1;
  const structures = [];
  const picture = (svg) => {
    const template = document.createElement("template");
    template.content.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
    return template;
  };
  const opened = async (structure) => {
    const { data, pictures, insides } = await unpack(root.pages[structure - 1]);
    return { data: { ...root, ...data, nodes: nodesOf(data.nodes) }, pictures: pictures.map(picture), insides: insides.map(picture) };
  };
  /** What a structure is shown from, made once, however often it is asked for meanwhile. */
  const load = (structure) => structures[structure] || (structures[structure] = opened(structure));
  const boot = {
    /** Listen to the window until the page starts anew. */
    listen: (type, act) => addEventListener(type, act, { signal: life.signal }),
    unpack,
    /** The numbers of a step's nodes, in columns. */
    facts: async (place) => (root.steps[place].pack === undefined ? (await load(root.steps[place].page)).data.nodes.own : unpack(root.steps[place].pack)),
    /** The node of one structure that is the like of one of another, if there is any. */
    like: (number, from, to) => {
      if (from === to) return number;
      const its = root.changes[`${Math.min(from, to)}-${Math.max(from, to)}`];
      if (!its) return undefined;
      if (from < to) return its.likes[number] >= 0 ? its.likes[number] : undefined;
      if (!its.back) its.back = new Map(its.likes.map((other, one) => [other, one]));
      return its.back.get(number);
    },
    /** Show the step at this place; says whether the page started anew. */
    show: async (place) => {
      const step = root.steps[place], structure = step ? step.page : 0, anew = structure !== shown;
      const { data, pictures, insides } = await load(structure);
      data.nodes.measure(step && step.pack !== undefined ? await unpack(step.pack) : null);
      Object.assign(data, { place, number: step ? step.n : data.number });
      if (!anew) return false;
      life.abort();
      life = new AbortController();
      if (shown >= 0) for (const each of clean) { const fresh = each[1].cloneNode(true); each[0].replaceWith(fresh); each[0] = fresh; }
      shown = structure;
      const copies = (templates) => (root.pages.length ? templates.map((template) => template.cloneNode(true)) : templates); // a view takes its picture
      get("pictures").replaceChildren(...copies(pictures));
      get("insides").replaceChildren(...copies(insides));
      main(data, boot);
      return true;
    },
  };
  (async () => {
    const written = JSON.parse(get("data").textContent);
    root = typeof written === "string" ? await unpacked(written) : written;
    root.nodes = nodesOf(root.nodes, root.measured);
    const { pictures, insides } = root.drawn === undefined ? {} : await unpack(root.drawn);
    structures[0] = { data: root, pictures: pictures ? pictures.map(picture) : [...get("pictures").children], insides: insides ? insides.map(picture) : [...get("insides").children] };
    const asked = Number(new URLSearchParams(location.hash.slice(1)).get("step"));
    const at = (number) => root.steps.findIndex((step) => step.n === number && step.page >= 0);
    boot.show(at(asked) >= 0 ? at(asked) : at(root.number));
  })();
};
