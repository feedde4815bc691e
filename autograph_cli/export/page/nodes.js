// The nodes of the whole graph: what is known of each is looked up in columns, which nodes have their values in common in.
const nodesOf = ({ count, facts }) => {
  class Node { constructor(number) { this.number = number; } }
  const MEASURED = ["time", "times", "norm", "size", "value", "gradient", "value_bins", "gradient_bins", "check", "error"];
  let columns = facts;
  const look = (fact, number, its = columns) => {
    const column = its[fact];
    if (!column || column[1][number] < 0) return undefined;
    return column[0] ? column[0][column[1][number]] : column[1][number];
  };
  for (const fact of new Set([...Object.keys(facts), ...MEASURED])) Object.defineProperty(Node.prototype, fact, { get() { return look(fact, this.number); } });
  const nodes = Array.from({ length: count }, (_, number) => new Node(number));
  const bare = Object.fromEntries(Object.entries(facts).filter(([fact]) => !MEASURED.includes(fact)));
  /** Take the numbers of another step of this structure; null for those that came with the picture. */
  nodes.measure = (its) => { columns = its ? { ...bare, ...its } : facts; };
  nodes.own = facts;
  /** A fact of a node in the columns of a step. */
  nodes.fact = (fact, number, its) => (number === undefined ? undefined : look(fact, number, its));
  return nodes;
};
/** Numbers, told as pairs of the first of a run and how many; and whether one is among them. */
const spread = (runs) => {
  const found = [];
  for (let i = 0; i < runs.length; i += 2) for (let at = 0; at < runs[i + 1]; at += 1) found.push(runs[i] + at);
  return found;
};
const within = (runs, number) => { for (let i = 0; i < runs.length; i += 2) if (number >= runs[i] && number < runs[i] + runs[i + 1]) return true; return false; };
