// The nodes of the whole graph: what is known of each is looked up in columns, which nodes have their values in common in.
const nodesOf = ({ count, facts }) => {
  class Node { constructor(number) { this.number = number; } }
  for (const [fact, [values, at]] of Object.entries(facts)) {
    const get = values ? (place) => values[place] : (value) => value;
    Object.defineProperty(Node.prototype, fact, { get() { return at[this.number] < 0 ? undefined : get(at[this.number]); } });
  }
  return Array.from({ length: count }, (_, number) => new Node(number));
};
